"""The comparison: every pooling, many tasks, tuned alike, with a verdict."""
