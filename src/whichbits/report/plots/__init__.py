"""The report's plots as SVG, drawn without a script: one text serves the page, print, and a picture in Markdown."""
