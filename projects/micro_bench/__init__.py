"""Results of the tools with which developers measure small things: one reader a tool."""
