"""The fast way through an event recording: many events at once, in NumPy.

The recorder writes the same few structures again and again. One of each is parsed in
full and becomes a *template*: its bytes, and a mask over those that must be the same
wherever the structure occurs (all but values, addresses and times). The same object of
a whole block of events is then fetched by address and compared in one go, and the
values come out as columns.

Nothing here may return what h5py would not. So what is accepted is a list of what the
recorder writes, every address is checked against the file's end, checksums are computed
where the format has them, and h5py reads at least one event of every template to
compare. An event that is not accepted is simply not read here: h5py reads it.

Source of the format: the HDF5 File Format Specification, version 3.0.
"""
