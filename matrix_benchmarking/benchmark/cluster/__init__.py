"""A plan carried out on several hosts: dealt here, measured there by the same campaign as on one machine."""
