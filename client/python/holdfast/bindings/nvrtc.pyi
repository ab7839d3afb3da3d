from typing import Any

# The names are made from CUDA's headers when the wheel is built.
def __getattr__(name: str) -> Any: ...
