"""The Studio: a page on which hierarchies are written, seen, stepped, compared and learned, and what answers it."""
