"""Type aliases of the public signatures; aliases only."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Tensor = Any
"""A tensor of the active backend, a NumPy array or a `KerasTensor`."""

Shape = tuple[int | None, ...]
"""A static shape; `None` stands for a dimension that is known only at run time."""

InitializerLike = str | dict[str, Any] | Callable[..., Any]
"""Whatever `keras.initializers.get` takes: a name, a config, an instance or a callable."""

RegularizerLike = str | dict[str, Any] | Callable[..., Any] | None
"""Whatever `keras.regularizers.get` takes."""

ConstraintLike = str | dict[str, Any] | Callable[..., Any] | None
"""Whatever `keras.constraints.get` takes."""

ActivationLike = str | dict[str, Any] | Callable[..., Any] | None
"""Whatever `keras.activations.get` takes; `None` is the identity."""

LayerLike = str | dict[str, Any] | Callable[..., Any]
"""A layer's name, its configuration, or the layer itself."""

PathLike = str | os.PathLike[str]
"""A file or a folder."""

Array = npt.NDArray[Any]
"""A NumPy array of any dtype; the aliases below name one dtype each."""

Bools = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]
