"""Training of small sets on PyTorch with the model's own operations, recorded once per shape.

A step of a small set takes Keras longer to call layer by layer than to compute. The operations
and their order are those of `model.fit`: without dropout so are the figures; its draws are others.
"""

import warnings
from typing import Any

import keras
import numpy as np

from benchmarks.reproduce.training import BestEpoch


class Recorded:
    """A model whose calls are recorded: from the second time on that a shape is met.

    Args:
        model: Takes a dictionary of arrays, and gives the probabilities of classes.
    """

    def __init__(self, model: keras.Model) -> None:
        import torch

        class Called(torch.nn.Module):  # type: ignore[misc]
            def __init__(self, names: list[str], training: bool) -> None:
                super().__init__()
                self.model, self.names, self.training_step = model, names, training

            def forward(self, *arrays: Any) -> Any:
                return self.model(
                    dict(zip(self.names, arrays, strict=True)), training=self.training_step
                )

        self._called, self._recorded = Called, dict[Any, Any]()

    def __call__(self, inputs: dict[str, np.ndarray], training: bool) -> Any:
        """The probabilities of a batch."""
        import torch

        names = sorted(inputs)
        arrays = [torch.from_numpy(inputs[name]) for name in names]
        key = (training, *(each.shape for each in arrays))
        if key not in self._recorded:
            self._recorded[key] = None
            return self._called(names, training)(*arrays)
        if self._recorded[key] is None:
            with torch.random.fork_rng([]), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Shapes are constants, as they are to be.
                module = self._called(names, training)
                self._recorded[key] = torch.jit.trace(module, arrays, check_trace=False)
        with torch.jit.optimized_execution(False):
            return self._recorded[key](*arrays)


def loop(model: keras.Model, train: Any, validation: Any, epochs: int, stop: BestEpoch) -> Any:
    """The loss of each epoch, as `model.fit` gives it for a compiled classifier."""
    import torch

    recorded, losses = Recorded(model), []
    variables = model.trainable_variables[:]

    def step(inputs: dict[str, np.ndarray], labels: np.ndarray, training: bool) -> Any:
        found = recorded(inputs, training)
        return found, keras.losses.sparse_categorical_crossentropy(labels, found).mean()

    stop.set_model(model)
    stop.on_train_begin()
    for epoch in range(epochs):
        train.on_epoch_end()  # Keras, too, draws an order before the first epoch.
        total, rows = 0.0, 0
        for inputs, labels in (train[place] for place in range(len(train))):
            model.zero_grad()
            _, loss = step(inputs, labels, True)
            loss.backward()
            with torch.no_grad():
                model.optimizer.apply([v.value.grad for v in variables], variables)
            total += float(loss.detach()) * len(labels)
            rows += len(labels)
        losses.append(total / rows)
        seen = np.zeros(3)  # rows, their loss, how many were right
        with torch.no_grad():
            for inputs, labels in (validation[place] for place in range(len(validation))):
                found, loss = step(inputs, labels, False)
                right = (found.argmax(dim=1).numpy() == labels).sum()
                seen += [len(labels), float(loss) * len(labels), right]
        loss, accuracy = seen[1:] / seen[0]
        stop.on_epoch_end(epoch, {"val_loss": loss, "val_accuracy": accuracy})
        if model.stop_training:
            break
    stop.on_train_end()
    # PyTorch keeps all that was ever recorded: a hundred megabytes a run.
    torch._C._jit_clear_class_registry()
    torch.jit._state._python_cu.drop_all_functions()
    torch.jit._state._clear_class_state()
    return losses
