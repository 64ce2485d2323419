"""What the reproductions share: choosing the epoch, the optimizer of a recipe, counting."""

from typing import Any

import keras


class BestEpoch(keras.callbacks.EarlyStopping):
    """Early stopping on validation accuracy; of equal ones the lower loss is the better.

    Without an accuracy (`monitor="loss"`) the lower validation loss decides alone.
    """

    def __init__(self, patience: int, monitor: str = "accuracy") -> None:
        super().__init__(monitor="score", mode="max", patience=patience, restore_best_weights=True)
        self.measure = monitor

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logs = dict(logs or {})
        logs["score"] = -1e-5 * min(logs["val_loss"], 50.0)
        if self.measure != "loss":
            logs["score"] += logs[f"val_{self.measure}"]
        super().on_epoch_end(epoch, logs)


def compile_model(
    model: keras.Model,
    recipe: dict[str, Any],
    loss: str = "sparse_categorical_crossentropy",
    metrics: tuple[str, ...] = ("accuracy",),
) -> None:
    """Compiles with the recipe's optimizer; weight decay is an L2 penalty (not on embeddings).

    An L2 penalty goes through the momentum as weight decay does in the optimizer that papers of the
    time used; Keras's own `weight_decay`, which AdamW takes, is decoupled from it.
    """
    clip = recipe.get("clip_norm")
    if recipe["optimizer"] == "sgd":
        optimizer = keras.optimizers.SGD(
            recipe["learning_rate"], momentum=recipe["momentum"], global_clipnorm=clip
        )
    elif recipe["optimizer"] == "adamw":
        optimizer = keras.optimizers.AdamW(
            recipe["learning_rate"], weight_decay=recipe["weight_decay"], global_clipnorm=clip
        )
    else:
        optimizer = keras.optimizers.Adam(recipe["learning_rate"], global_clipnorm=clip)
    if recipe["weight_decay"] and recipe["optimizer"] != "adamw":
        for variable in model.trainable_variables:
            if "embedding" not in variable.path:
                variable.regularizer = keras.regularizers.L2(recipe["weight_decay"] / 2)
    model.compile(optimizer, loss, metrics=list(metrics))


def embedding_size(model: keras.Model) -> int:
    """Number of entries of the word embeddings, also of those inside a sub-model."""
    embeddings = [v for v in model.weights if v.path.endswith("embedding/embeddings")]
    words = [v for v in embeddings if not v.path.endswith("character_embedding/embeddings")]
    return sum(v.shape[0] * v.shape[1] for v in words)
