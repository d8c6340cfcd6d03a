#!/usr/bin/env python3
"""Verifies what `metier audit export`, `archive` and `checkpoint` write, without metier.

    verify-journal.py FILE... [--since CHECKPOINT]...   exports and archives; several must continue one another
    verify-journal.py --proof FILE                      a proof that a record is in a journal,
                                                        or that a journal extends a checkpoint

A proof is only as good as its checkpoints: compare their size and root with what you trust.

Exit codes: 0 if everything is intact, 1 if something is not, 2 for wrong usage.
It was written from journal.md ("Exports and archives") alone and shares no code with metier, so that each can be
checked against the other. Python 3.8 or newer, standard library only.
"""
import argparse
import gzip
import hashlib
import json
import re
import sys
import zlib


class Bad(Exception):
    """The input is not as it was written. The text says why."""


class WrongUse(Exception):
    """The input is not something to verify or to compare with."""


def need(condition, reason):
    if not condition:
        raise Bad(reason)


# JSON. Python accepts more than the format allows; the rest is refused here.
def not_whole(_):
    raise Bad("it has a number that is not an integer")


def whole_number(digits):
    # The length first: Python takes very long for a million digits.
    need(len(digits) <= 17 and abs(int(digits)) < 2**53, "it has a number beyond 2^53 - 1")
    return int(digits)


def sorted_object(pairs):
    # Sorted when read: Python keeps that order, so it is written canonically from then on.
    # By UTF-16 code units, since Python itself sorts by code points.
    members = dict(sorted(pairs, key=lambda pair: pair[0].encode("utf-16-be")))
    need(len(members) == len(pairs), "it has a duplicate member")
    return members


DECODER = json.JSONDecoder(object_pairs_hook=sorted_object, parse_int=whole_number,
                           parse_float=not_whole, parse_constant=not_whole)
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def canonical(value):
    try:
        return ENCODER.encode(value).encode("utf-8")
    except RecursionError:
        raise Bad("it is nested too deeply")


def parse(data):
    """The value, and its canonical JSON."""
    try:
        value = DECODER.decode(data.decode("utf-8"))
        return value, canonical(value)
    except UnicodeError:  # also from half a surrogate pair, written as an escape
        raise Bad("it is not valid UTF-8")
    except ValueError:
        raise Bad("it is not JSON")
    except RecursionError:
        raise Bad("it is nested too deeply")


# The members of each kind of object, with a test for each.
def text_like(pattern):
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def is_number(value):
    return type(value) is int and value >= 0  # not isinstance, for which True is a number


def is_like(form):
    return lambda value: isinstance(value, dict) and set(value) == set(form) and all(
        is_right(value[name]) for name, is_right in form.items())


is_hash = text_like("sha256:[0-9a-f]{64}")
is_uuid = text_like("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
is_time = text_like(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
is_record = is_like({
    "event": lambda value: isinstance(value, dict) and isinstance(value.get("kind"), str),
    "hash": is_hash, "id": is_uuid, "previous": is_hash, "sequence": is_number,
    "session": lambda value: value is None or isinstance(value, str), "time": is_time})
is_checkpoint = is_like({"journal": is_uuid, "root": is_hash, "size": is_number, "time": is_time})
is_start = is_like({"format": lambda value: is_number(value) and value == 1, "hash": is_hash, "journal": is_uuid,
                    "nodes": lambda value: is_path(value), "size": is_number})
is_path = lambda value: isinstance(value, list) and all(map(is_hash, value))
is_inclusion = is_like({"record": is_record, "checkpoint": is_checkpoint, "proof": is_path})
is_consistency = is_like({"old": is_checkpoint, "new": is_checkpoint, "proof": is_path})


# Hashes, always as text: "sha256:…".
def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def node(left, right):
    return sha256(b"\x01" + bytes.fromhex(left[7:]) + bytes.fromhex(right[7:]))


def check_hash(record):
    hashed = canonical({name: value for name, value in record.items() if name != "hash"})
    need(record["hash"] == sha256(b"\x00" + hashed), "its hash does not match its content")


class Tree:
    """A Merkle tree that grows at its end. For this, the roots of its full subtrees are enough."""

    def __init__(self, size=0, nodes=()):
        self.size, self.nodes = size, list(nodes)

    def add(self, leaf):
        # Like adding one to a binary number: each 1 at its end is a subtree that is now doubled.
        size = self.size
        while size & 1:
            leaf, size = node(self.nodes.pop(), leaf), size >> 1
        self.nodes.append(leaf)
        self.size += 1

    def root(self):
        root = self.nodes[-1]
        for left in reversed(self.nodes[:-1]):
            root = node(left, root)
        return root


def check_own(event, tree):
    """The records that a journal writes about itself. The tree is that of the records before."""
    if tree.size == 0:
        need(event["kind"] == "journal.created" and is_uuid(event.get("journal")), "it does not identify the journal")
        need(is_number(event.get("format")) and event["format"] == 1, "the format of the journal is not 1")
    elif (tree.size + 1) % 1024 == 0:
        need(event["kind"] == "journal.checkpoint", "it should be a checkpoint")
        need(is_number(event.get("size")) and event["size"] == tree.size and event.get("root") == tree.root()
             and event.get("nodes") == tree.nodes, "it is not the checkpoint of the records before")


class Journal:
    """The state of a journal after the records that were read."""

    def __init__(self):
        self.tree, self.previous, self.journal, self.first = Tree(), "sha256:" + 64 * "0", None, None

    def begin(self, start, name):
        """Where a file begins: `start` is its first line if older records are in archives, else None."""
        size = start["size"] if start else 0
        if self.first is None:
            self.first = size
            if start:
                self.tree = Tree(size, start["nodes"])
                self.previous, self.journal = start["hash"], start["journal"]
            return
        need(size <= self.tree.size, "records %d to %d are missing" % (self.tree.size, size - 1))
        need(size == self.tree.size, "%s repeats record %d" % (name, size))
        need((start["journal"], start["hash"], start["nodes"]) == (self.journal, self.previous, self.tree.nodes),
             "%s does not continue record %d" % (name, size - 1))

    def add(self, line, checkpoints):
        try:
            need(line.endswith(b"\n"), "its line does not end with a line feed")
            record, text = parse(line[:-1])
            need(line[:-1] == text, "it is not canonical JSON")
            need(is_record(record), "it does not have the members of a record")
            check_hash(record)
            need(record["sequence"] == self.tree.size, "record %d is in its place" % record["sequence"])
            need(record["previous"] == self.previous, "it does not follow the record before it")
            check_own(record["event"], self.tree)
        except Bad as bad:
            raise Bad("record %d: %s" % (self.tree.size, bad))
        self.journal, self.previous = self.journal or record["event"]["journal"], record["hash"]
        self.tree.add(self.previous)
        self.compare(checkpoints)

    def compare(self, checkpoints):
        for checkpoint in checkpoints:
            if checkpoint["size"] == self.tree.size:
                need(checkpoint["journal"] == self.journal, "the checkpoint is of another journal")
                need(checkpoint["root"] == self.tree.root(),
                     "the first %d records are not those of the checkpoint; the journal was rewritten" % self.tree.size)


def start_of(line):
    """The first line of a file, if it says where the records begin."""
    if not line.startswith(b'{"format":'):
        return None
    try:
        need(line.endswith(b"\n"), "it does not end with a line feed")
        start, text = parse(line[:-1])
        need(line[:-1] == text and is_start(start), "it is not a line of that kind")
        size = start["size"]
        need(size > 0 and bin(size).count("1") == len(start["nodes"]), "its size and nodes do not match")
        need(size % 2 == 0 or start["nodes"][-1] == start["hash"], "its hash and nodes do not match")
        return start
    except Bad as bad:
        raise Bad("the first line, where the records begin: %s" % bad)


def verify_files(paths, checkpoints):
    """The number of records, and the sequence of the first, if all are intact and extend every checkpoint."""
    def first_line(path):
        with opened(path) as lines:
            return lines.readline(1 << 20)

    starts = [(start_of(first_line(path)), path) for path in paths] if len(paths) > 1 else [(None, paths[0])]
    state, count = Journal(), 0
    for _, path in sorted(starts, key=lambda part: part[0]["size"] if part[0] else 0):
        with opened(path) as lines:
            line = lines.readline(1 << 20)
            start = start_of(line)
            state.begin(start, path)
            state.compare(checkpoints)
            line = lines.readline(1 << 20) if start else line
            need(line, "there are no records")
            while line:
                state.add(line, checkpoints)
                count += 1
                line = lines.readline(1 << 20)
    for checkpoint in checkpoints:
        need(checkpoint["size"] > 0, "the checkpoint is over no records")
        need(checkpoint["size"] >= state.first,
             "the checkpoint is about archived records: its archives are needed, too")
        need(checkpoint["size"] <= state.tree.size, "record %d: it is missing; the checkpoint has %d records"
             % (state.tree.size, checkpoint["size"]))
    return count, state.first


def opened(path):
    """A file, decompressed if it is an archive."""
    with open(path, "rb") as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_compressed else open(path, "rb")


def climb(i, last, path, old, new):
    """Follows a proof up the tree: the root of its old part (for consistency only), and the root of all."""
    for p in path:
        need(last != 0, "the proof has too many hashes")
        if i & 1 or i == last:
            old, new = node(p, old), node(p, new)
            while not i & 1 and i != 0:
                i, last = i >> 1, last >> 1
        else:
            new = node(new, p)
        i, last = i >> 1, last >> 1
    need(last == 0, "the proof has too few hashes")
    return old, new


def verify_inclusion(record, checkpoint, path):
    check_hash(record)
    sequence, size = record["sequence"], checkpoint["size"]
    need(sequence < size, "record %d is newer than the checkpoint over %d" % (sequence, size))
    root = climb(sequence, size - 1, path, record["hash"], record["hash"])[1]
    need(root == checkpoint["root"], "the hashes do not lead from the record to the checkpoint")
    return "record %d is in the journal of size %d and root %s" % (sequence, size, root)


def verify_consistency(old, new, path):
    need(old["journal"] == new["journal"], "the checkpoints are of different journals")
    # With an old size of 0, `i` below would be -1, which stays odd.
    need(0 < old["size"] <= new["size"], "the old checkpoint has no records, or more than the new one")
    if old["size"] == new["size"]:
        need(old["root"] == new["root"] and not path, "the checkpoints have the same size and differ")
    else:
        if old["size"] & (old["size"] - 1) == 0:  # a power of two
            path = [old["root"]] + path
        need(path, "the proof has too few hashes")
        i, last = old["size"] - 1, new["size"] - 1
        while i & 1:
            i, last = i >> 1, last >> 1
        roots = climb(i, last, path[1:], path[0], path[0])
        need(roots == (old["root"], new["root"]), "the hashes do not lead to both checkpoints")
    return "the journal of size %d and root %s extends that of size %d and root %s" % (
        new["size"], new["root"], old["size"], old["root"])


def read(path, what, *forms):
    """Reads a small file. If it is something else, that is wrong usage, and not a finding."""
    try:
        with open(path, "rb") as file:
            value = parse(file.read())[0]
        need(any(is_form(value) for is_form in forms), "its members are wrong")
        return value
    except Bad as bad:
        raise WrongUse("%s is not a %s: %s" % (path, what, bad))


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Verifies exports and archives of a metier journal, or a proof.")
    parser.add_argument("files", nargs="*", metavar="FILE",
                        help="what `metier audit export` or `metier audit archive` wrote; several must continue one another")
    parser.add_argument("--since", action="append", default=[], metavar="CHECKPOINT",
                        help="a checkpoint that the journal must extend; can be repeated")
    parser.add_argument("--proof", metavar="FILE", help="a proof, instead of files")
    options = parser.parse_args(arguments)
    if (not options.files) == (options.proof is None) or (options.since and not options.files):
        parser.error("give either FILE, with any number of --since, or --proof FILE")
    try:
        if options.proof:
            proof = read(options.proof, "proof", is_inclusion, is_consistency)
            if "record" in proof:
                found = verify_inclusion(proof["record"], proof["checkpoint"], proof["proof"])
            else:
                found = verify_consistency(proof["old"], proof["new"], proof["proof"])
            print("proven: " + found)
        else:
            checkpoints = [read(path, "checkpoint", is_checkpoint) for path in options.since]
            (count, first), matched = verify_files(options.files, checkpoints), len(checkpoints)
            print("OK: %d record%s intact%s, %d checkpoint%s matched" % (
                count, "s"[count == 1:], ", from record %d" % first if first else "", matched, "s"[matched == 1:]))
        return 0
    except Bad as bad:
        print("%s: %s" % ("NOT proven" if options.proof else "damaged", bad))
        return 1
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        print("damaged: the compressed file is cut off or was changed: %s" % error)
        return 1
    except (WrongUse, OSError, ValueError, MemoryError) as error:  # ValueError: a zero byte in a path
        print("error: " + (str(error) or "not enough memory"), file=sys.stderr)  # stderr escapes what it cannot show
        return 2


if __name__ == "__main__":
    sys.exit(main())
