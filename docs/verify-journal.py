#!/usr/bin/env python3
"""Verifies what `metier audit export` and `metier audit checkpoint` write, without metier.

    verify-journal.py EXPORT [--since CHECKPOINT]...    an exported journal
    verify-journal.py --proof FILE                      a proof that a record is in a journal,
                                                        or that a journal goes on from a checkpoint

A proof is worth what its checkpoints are: compare them with what you trust, size and root.

Exits with 0 if all is as it was written, with 1 if something is not, with 2 if it was used wrongly.
It was written from journal.md ("Export, for other programs") alone and shares no code with metier,
so that each can be checked by the other. Python 3.8 or newer, standard library only.
"""
import argparse
import hashlib
import json
import re
import sys


class Bad(Exception):
    """What was read is not as it was written. The text says why."""


class WrongUse(Exception):
    """There is nothing to verify, or nothing to compare with."""


def need(condition, reason):
    if not condition:
        raise Bad(reason)


# JSON. Python reads more than the format allows; what it is lenient in is refused here.
def not_whole(_):
    raise Bad("it has a number that is not whole")


def whole_number(digits):
    # The length first: Python takes very long for a million digits.
    need(len(digits) <= 17 and abs(int(digits)) < 2**53, "it has a number beyond 2^53 - 1")
    return int(digits)


def sorted_object(pairs):
    # Sorted when read: Python keeps that order, so it is written canonically from then on.
    # By UTF-16 code units, since Python itself sorts by code points.
    members = dict(sorted(pairs, key=lambda pair: pair[0].encode("utf-16-be")))
    need(len(members) == len(pairs), "it has a member twice")
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
        raise Bad("it is not Unicode text")
    except ValueError:
        raise Bad("it is not JSON")
    except RecursionError:
        raise Bad("it is nested too deeply")


# What has which members, and how to tell what is one of them.
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
is_path = lambda value: isinstance(value, list) and all(map(is_hash, value))
is_inclusion = is_like({"record": is_record, "checkpoint": is_checkpoint, "proof": is_path})
is_consistency = is_like({"old": is_checkpoint, "new": is_checkpoint, "proof": is_path})


# Hashes, always as they are written: "sha256:…".
def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def node(left, right):
    return sha256(b"\x01" + bytes.fromhex(left[7:]) + bytes.fromhex(right[7:]))


def check_hash(record):
    hashed = canonical({name: value for name, value in record.items() if name != "hash"})
    need(record["hash"] == sha256(b"\x00" + hashed), "its hash is not that of what it says")


class Tree:
    """A Merkle tree that grows at its end. For this, the roots of its full subtrees are enough."""

    def __init__(self):
        self.size, self.nodes = 0, []

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
        need(event["kind"] == "journal.created" and is_uuid(event.get("journal")), "it does not begin a journal")
        need(is_number(event.get("format")) and event["format"] == 1, "the format of the journal is not 1")
    elif (tree.size + 1) % 1024 == 0:
        need(event["kind"] == "journal.checkpoint", "it should be a checkpoint")
        need(is_number(event.get("size")) and event["size"] == tree.size and event.get("root") == tree.root()
             and event.get("nodes") == tree.nodes, "it is not the checkpoint of the records before")


def verify_export(lines, checkpoints):
    """The number of records, if they are whole and go on from every checkpoint."""
    tree, previous, journal = Tree(), "sha256:" + 64 * "0", None
    for line in lines:
        try:
            need(line.endswith(b"\n"), "its line does not end with a line feed")
            record, text = parse(line[:-1])
            need(line[:-1] == text, "it is not canonical JSON")
            need(is_record(record), "it does not have the form of a record")
            check_hash(record)
            need(record["sequence"] == tree.size, "record %d is in its place" % record["sequence"])
            need(record["previous"] == previous, "it does not follow the record before it")
            check_own(record["event"], tree)
        except Bad as bad:
            raise Bad("record %d: %s" % (tree.size, bad))
        journal, previous = journal or record["event"]["journal"], record["hash"]
        tree.add(previous)
        for checkpoint in checkpoints:
            if checkpoint["size"] == tree.size:
                need(checkpoint["journal"] == journal, "this is another journal than that of the checkpoint")
                need(checkpoint["root"] == tree.root(),
                     "the journal was rewritten: its first %d records are not those of the checkpoint" % tree.size)
    need(tree.size > 0, "there are no records")
    for checkpoint in checkpoints:
        need(checkpoint["size"] > 0, "the checkpoint is of no records")
        need(checkpoint["size"] <= tree.size,
             "record %d: it is gone; the checkpoint has %d records" % (tree.size, checkpoint["size"]))
    return tree.size


def climb(i, last, path, old, new):
    """Follows a proof up the tree: the root of its old part (of use for consistency only), and the root of all."""
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
    need(sequence < size, "record %d came after the checkpoint of %d" % (sequence, size))
    root = climb(sequence, size - 1, path, record["hash"], record["hash"])[1]
    need(root == checkpoint["root"], "the hashes do not lead from the record to the checkpoint")
    return "record %d is in the journal of size %d and root %s" % (sequence, size, root)


def verify_consistency(old, new, path):
    need(old["journal"] == new["journal"], "the checkpoints are of two journals")
    # With an old size of 0, `i` below would be -1, and odd for ever.
    need(0 < old["size"] <= new["size"], "the old checkpoint is of no records, or of more than the new one")
    if old["size"] == new["size"]:
        need(old["root"] == new["root"] and not path, "the checkpoints are of the same size, and something differs")
    else:
        if old["size"] & (old["size"] - 1) == 0:  # a power of two
            path = [old["root"]] + path
        need(path, "the proof has too few hashes")
        i, last = old["size"] - 1, new["size"] - 1
        while i & 1:
            i, last = i >> 1, last >> 1
        roots = climb(i, last, path[1:], path[0], path[0])
        need(roots == (old["root"], new["root"]), "the hashes do not lead to both checkpoints")
    return "the journal of size %d and root %s goes on from that of size %d and root %s" % (
        new["size"], new["root"], old["size"], old["root"])


def read(path, what, *forms):
    """A small file. If it is something else, that says nothing about a journal, so it is wrong use."""
    try:
        with open(path, "rb") as file:
            value = parse(file.read())[0]
        need(any(is_form(value) for is_form in forms), "it does not have the form of one")
        return value
    except Bad as bad:
        raise WrongUse("%s is not a %s: %s" % (path, what, bad))


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Verifies an exported journal of metier, or a proof.")
    parser.add_argument("export", nargs="?", metavar="EXPORT", help="what `metier audit export` wrote")
    parser.add_argument("--since", action="append", default=[], metavar="CHECKPOINT",
                        help="a checkpoint that the journal must go on from; can be repeated")
    parser.add_argument("--proof", metavar="FILE", help="a proof, instead of an export")
    options = parser.parse_args(arguments)
    if (options.export is None) == (options.proof is None) or (options.since and options.export is None):
        parser.error("give either EXPORT, with any number of --since, or --proof FILE")
    try:
        if options.export is None:
            proof = read(options.proof, "proof", is_inclusion, is_consistency)
            if "record" in proof:
                found = verify_inclusion(proof["record"], proof["checkpoint"], proof["proof"])
            else:
                found = verify_consistency(proof["old"], proof["new"], proof["proof"])
            print("proven: " + found)
        else:
            checkpoints = [read(path, "checkpoint", is_checkpoint) for path in options.since]
            with open(options.export, "rb") as lines:
                size, compared = verify_export(lines, checkpoints), len(checkpoints)
            print("whole: %d record%s, compared with %d checkpoint%s" % (
                size, "s"[size == 1:], compared, "s"[compared == 1:]))
        return 0
    except Bad as bad:
        print("%s: %s" % ("NOT proven" if options.export is None else "damaged", bad))
        return 1
    except (WrongUse, OSError, ValueError, MemoryError) as error:  # ValueError: a zero byte in a path
        print("error: " + (str(error) or "not enough memory"), file=sys.stderr)  # stderr escapes what it cannot show
        return 2


if __name__ == "__main__":
    sys.exit(main())
