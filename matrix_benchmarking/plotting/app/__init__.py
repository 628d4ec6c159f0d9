"""The application of ``matbench visualize``: what it shows is a function of the data and of the page's address."""
