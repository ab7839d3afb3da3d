# SPDX-License-Identifier: Apache-2.0
from holdfast.core import *
from holdfast.core import graph as graph
from holdfast.core import system as system
from holdfast.core import typing as typing
from holdfast.core import utils as utils
