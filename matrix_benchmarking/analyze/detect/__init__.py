"""Whether, where and by how much the level of a series changed: pure mathematics."""
