"""Questions asked of a matrix: which point is best, and can two points be told apart."""
