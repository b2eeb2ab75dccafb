"""How a picture is written down."""
