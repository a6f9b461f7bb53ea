"""Flower's messages by hand, from the field list alone: fields in, bytes out, and back; tensors are .npy files."""

import io
import struct

import numpy as np


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def part(number, payload):
    """A field with a length: message, text or bytes."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def count(number, value):
    return varint(number << 3) + varint(value) if value else b""


def scalar(value):
    if isinstance(value, bool):
        return varint(13 << 3) + varint(int(value))
    if isinstance(value, int):
        return varint(8 << 3) + varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if isinstance(value, float):
        return varint(1 << 3 | 1) + struct.pack("<d", value)
    return part(14, value.encode()) if isinstance(value, str) else part(15, value)


def entries(number, values):
    return b"".join(part(number, part(1, key.encode()) + part(2, scalar(value))) for key, value in values.items())


def fields(data):
    """The fields of a message as (number, value): integers, 4 or 8 bytes, or bytes."""
    at = 0

    def read_varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = read_varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, read_varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or read_varint()
        yield tag >> 3, data[at:at + size]
        at += size


def read_scalar(data):
    (number, value), = fields(data)
    if number == 1:
        return struct.unpack("<d", value)[0]
    if number == 8:
        return value >> 1 if value % 2 == 0 else -(value + 1 >> 1)
    return {13: bool, 14: lambda v: v.decode(), 15: bytes, 6: int}[number](value)


def read_config(messages):
    config = {}
    for message in messages:
        pair = dict(fields(message))
        config[pair[1].decode()] = read_scalar(pair[2])
    return config


def from_npy(data):
    return np.load(io.BytesIO(data), allow_pickle=False)


def to_npy(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def parameters(arrays):
    return b"".join(part(1, to_npy(array)) for array in arrays) + part(2, b"numpy.ndarray")


def read_parameters(data):
    return [from_npy(value) for number, value in fields(data) if number == 1]
