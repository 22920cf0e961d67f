"""Token counting: exact if a vocabulary is on this machine, else estimated; both are corrected by providers' reports.

The package also has the sizes above which a model's requests have a higher price.

Rules of this package:
- It imports nothing else of the package but `errors`.
- Nothing here uses the network unless the caller allows it and names a vocabulary.
"""
