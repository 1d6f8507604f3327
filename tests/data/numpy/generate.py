#!/usr/bin/env python3
"""Makes the NumPy files of this folder again (needs numpy): each holds what its name says, and the
numbers of `plain.npy` where it is an array of (2, 3): 0.5 * i - 1 for i = 0 to 5."""
import io
import os
import zipfile

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
plain = (0.5 * np.arange(6) - 1).reshape(2, 3)


def path(name):
    return os.path.join(here, name)


def versioned(name, array, version):
    with open(path(name), "wb") as file:
        np.lib.format.write_array(file, array, version=version)


np.save(path("plain.npy"), plain.astype("<f4"))
np.save(path("fortran_big_f8.npy"), np.asfortranarray(plain.astype(">f8")))
np.save(path("f2.npy"), plain.astype("<f2"))
np.save(path("big_i4.npy"), np.arange(6, dtype=">i4").reshape(2, 3))
np.save(path("bool.npy"), np.array([[True, False, True]]))
np.save(path("fortran_3d.npy"), np.asfortranarray(np.arange(24, dtype="<i2").reshape(2, 3, 4)))
bits = (plain.astype("<f4").view("<u4") >> 16).astype("<u2")
np.save(path("bfloat16_v2.npy"), bits.view("V2"))
versioned("version2.npy", plain.astype("<f4"), (2, 0))
versioned("version3.npy", plain.astype("<f4"), (3, 0))
np.save(path("complex.npy"), np.array([1j]))
np.save(path("objects.npy"), np.array([{}], dtype=object), allow_pickle=True)
np.save(path("record.npy"), np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))

# A case as attn-check reads it: two tokens, causal; attributes are arrays of one number or text.
q = np.array([[[[1.0, 0.0], [0.0, 1.0]]]], dtype="<f4")
out = np.array([[[[1.0, 0.0], [0.33023845, 0.66976155]]]], dtype="<f4")
case = dict(q=q, k=q, v=q, out=out, causal=np.bool_(True), scale=np.float64(0.5**0.5),
            layout=np.array("BHSD"), dtype=np.array("float32"))


def archive(name, arrays, compression):
    """As numpy.savez, with the dates that make the same bytes each time."""
    with zipfile.ZipFile(path(name), "w", compression) as file:
        for key, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.asanyarray(array))
            file.writestr(zipfile.ZipInfo(key + ".npy"), data.getvalue(), compression)


archive("case.npz", case, zipfile.ZIP_STORED)
archive("case_deflated.npz", {**case, "causal_probe/first_changed_key": np.int64(1),
                              "causal_probe/k": q, "causal_probe/v": q, "causal_probe/out": out},
        zipfile.ZIP_DEFLATED)
archive("zeros.npz", {"q": np.zeros((64, 1024), "<f4")}, zipfile.ZIP_DEFLATED)
