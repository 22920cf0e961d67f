"""Token counting: exact if a vocabulary is on this machine, else estimated; both are corrected by providers' reports.

The package also has the sizes above which a model's requests have a higher price.

Rules of this package:
- It imports nothing else of the package but `errors`.
- Nothing here uses the network unless the caller allows it and names a vocabulary.

Where things are done:
- text is counted: `counter`, with `vocabularies` if they are there, else by `estimate` (its tables come from
  `benchmarks/fit_tokens.py`); images and documents: `media`;
- a provider's report is read: `usage`; a session learns from it, unless it is implausible: `meter` (`PLAUSIBLE`); what
  it learns, as numbers: `calibration`;
- a view was too long for a model: `refused_as_too_long`; above which size a request costs more: `tariff_steps`;
- a model's name, written by routers and hosts in many ways: `model_names`.
"""
