"""Models with a fault each that lets what stands beside a row in the batch change its answer."""
