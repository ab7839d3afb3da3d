# SPDX-License-Identifier: Apache-2.0
"""Every notebook of the examples is executed: cell by cell, by a kernel of Jupyter's."""

import glob
import os

import pytest

nbformat = pytest.importorskip("nbformat", reason="install python3-nbclient")
nbclient = pytest.importorskip("nbclient", reason="install python3-nbclient")
pytest.importorskip("ipykernel", reason="install python3-ipykernel")
pytest.importorskip("matplotlib", reason="install python3-matplotlib")

_EXAMPLES = os.environ["HOLDFAST_EXAMPLES"]


class _Client(nbclient.NotebookClient):
    """Counts how often a plot is drawn anew."""

    updates = 0

    def process_message(self, msg, cell, cell_index):
        self.updates += msg["msg_type"] == "update_display_data"
        return super().process_message(msg, cell, cell_index)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Where Jupyter and matplotlib keep their files, matplotlib's list of fonts among them."""
    return str(tmp_path_factory.mktemp("home"))


@pytest.fixture
def executed(address, home, monkeypatch, request):
    """The client that has executed a notebook."""
    for name in "HOME", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR":
        monkeypatch.setenv(name, home)
    monkeypatch.setenv("HOLDFAST_ADDRESS", address)
    notebook = nbformat.read(os.path.join(_EXAMPLES, request.param), as_version=4)
    client = _Client(notebook, timeout=250, kernel_name="python3")  # fonts are listed first
    client.execute()
    return client


def _texts(notebook):
    """What the cells have printed."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stdout")


@pytest.mark.parametrize("executed", ["heat.ipynb"], indirect=True)
def test_heat_is_drawn_as_it_goes_on_and_is_right(executed):
    printed = _texts(executed.nb)
    assert "2000 steps of 128 x 128 points" in printed
    assert "0 of 16384 points differ" in printed
    assert executed.updates == 20
    plots = [o for o in executed.nb.cells[3].outputs if o.output_type == "display_data"]
    assert len(plots) == 1 and plots[0].data["image/png"]


@pytest.mark.parametrize("path", glob.glob(os.path.join(_EXAMPLES, "*.ipynb")))
def test_a_notebook_is_kept_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
