"""Python, JavaScript and C, one file each; only `rpte.export.target` imports them."""
