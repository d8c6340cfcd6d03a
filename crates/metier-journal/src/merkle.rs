//! The Merkle tree of RFC 6962 over the records' hashes: roots, and proofs with a few hashes.
//!
//! Roots are kept as a [`Frontier`], which grows by one record at a time; proofs are made from [`Leaves`]. Proofs are
//! checked by `ct-merkle`, which shares no code with what makes them.

use ct_merkle::{ConsistencyProof, InclusionProof, RootHash};
use metier_skill::Digest;
use sha2::{Digest as _, Sha256};

use crate::record::{MAX_NUMBER, Record};

/// What every hash of an inner node begins with.
const NODE: u8 = 1;

fn node(left: &Digest, right: &Digest) -> Digest {
    let mut bytes = [NODE; 65];
    bytes[1..33].copy_from_slice(left.as_bytes());
    bytes[33..].copy_from_slice(right.as_bytes());
    Digest::from_bytes(Sha256::digest(bytes).into())
}

/// The right edge of the tree: the roots of the full trees that it consists of, the largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Frontier {
    size: u64,
    nodes: Vec<Digest>,
}

impl Frontier {
    /// From the subtrees that a checkpoint names; `None` if their number is wrong for the size.
    pub(crate) fn from_parts(size: u64, nodes: Vec<Digest>) -> Option<Self> {
        (nodes.len() == size.count_ones() as usize).then_some(Self { size, nodes })
    }

    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn nodes(&self) -> &[Digest] {
        &self.nodes
    }

    /// The full subtree that begins at this place.
    fn node_at(&self, from: u64) -> Option<Digest> {
        let mut place = 0;
        for (node, bit) in self.nodes.iter().zip((0..u64::BITS).rev().filter(|bit| self.size >> bit & 1 == 1))
        {
            if place == from {
                return Some(*node);
            }
            place += 1 << bit;
        }
        None
    }

    pub(crate) fn push(&mut self, hash: Digest) {
        let mut hash = hash;
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.nodes.pop() {
                hash = node(&left, &hash);
            }
        }
        self.nodes.push(hash);
        self.size += 1;
    }

    pub(crate) fn root(&self) -> Digest {
        let joined = self.nodes.iter().rev().copied().reduce(|right, left| node(&left, &right));
        joined.unwrap_or_else(|| Digest::of(b""))
    }
}

/// Where a tree of this size, of at least two, is divided.
const fn half(size: u64) -> u64 {
    size.next_power_of_two() / 2
}

/// What proofs are made from: the hash of every record, except those of records before `first`, of which only the full
/// subtrees are known. That is enough for every record after them.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    first: Frontier,
    hashes: Vec<Digest>,
}

impl Leaves {
    /// The leaves after these.
    pub(crate) const fn after(first: Frontier) -> Self {
        Self { first, hashes: Vec::new() }
    }

    pub(crate) fn push(&mut self, hash: Digest) {
        self.hashes.push(hash);
    }

    /// The number of records whose hashes are not known.
    pub(crate) const fn first(&self) -> u64 {
        self.first.size()
    }

    pub(crate) fn size(&self) -> u64 {
        self.first() + self.hashes.len() as u64
    }

    /// The root over all.
    pub(crate) fn root(&self) -> Digest {
        self.root_of(0, self.size())
    }

    /// The root over the records from one place to another.
    fn root_of(&self, from: u64, to: u64) -> Digest {
        let place = |sequence: u64| usize::try_from(sequence - self.first()).unwrap_or(usize::MAX);
        if from >= self.first() {
            let mut frontier = Frontier::default();
            for hash in self.hashes.get(place(from)..place(to)).unwrap_or_default() {
                frontier.push(*hash);
            }
            return frontier.root();
        }
        if (from, to) == (0, self.first()) {
            return self.first.root();
        }
        if to <= self.first() {
            // A subtree of a proof whose parent reaches beyond `first` is one of the full subtrees.
            return self.first.node_at(from).unwrap_or_else(|| Digest::of(b""));
        }
        let middle = from + half(to - from);
        node(&self.root_of(from, middle), &self.root_of(middle, to))
    }

    /// The hashes that lead from a record to the root; the record must not be before `first`.
    pub(crate) fn prove_inclusion(&self, sequence: u64) -> Vec<Digest> {
        self.inclusion(sequence, 0, self.size())
    }

    fn inclusion(&self, sequence: u64, from: u64, to: u64) -> Vec<Digest> {
        if to - from < 2 {
            return Vec::new();
        }
        let middle = from + half(to - from);
        let (mut proof, other) = if sequence < middle {
            (self.inclusion(sequence, from, middle), (middle, to))
        } else {
            (self.inclusion(sequence, middle, to), (from, middle))
        };
        proof.push(self.root_of(other.0, other.1));
        proof
    }

    /// The hashes that lead from the root over the records before `old` to the root over all; `old` must not be below `first`.
    pub(crate) fn prove_consistency(&self, old: u64) -> Vec<Digest> {
        self.consistency(old, (0, self.size()), true)
    }

    fn consistency(&self, old: u64, (from, to): (u64, u64), is_whole: bool) -> Vec<Digest> {
        if old == to {
            return if is_whole { Vec::new() } else { vec![self.root_of(from, to)] };
        }
        let middle = from + half(to - from);
        let (mut proof, other) = if old <= middle {
            (self.consistency(old, (from, middle), is_whole), (middle, to))
        } else {
            (self.consistency(old, (middle, to), false), (from, middle))
        };
        proof.push(self.root_of(other.0, other.1));
        proof
    }
}

/// Whether a record is in a tree of this size and root.
pub(crate) fn check_inclusion(record: &Record, size: u64, root: &Digest, proof: &[Digest]) -> bool {
    if !record.is_whole() || record.sequence >= size || size > MAX_NUMBER {
        return false;
    }
    let tree = RootHash::<Sha256>::new((*root.as_bytes()).into(), size);
    let proof = InclusionProof::from_digests(outputs(proof).iter());
    tree.verify_inclusion(&record.hashed(), record.sequence, &proof).is_ok()
}

/// Whether a tree extends another.
pub(crate) fn check_consistency(old: (u64, &Digest), new: (u64, &Digest), proof: &[Digest]) -> bool {
    match () {
        // Every journal extends an empty one, so that proves nothing.
        () if old.0 == 0 || old.0 > new.0 || new.0 > MAX_NUMBER => false,
        () if old.0 == new.0 => proof.is_empty() && old.1 == new.1,
        () => {
            let tree =
                |(size, root): (u64, &Digest)| RootHash::<Sha256>::new((*root.as_bytes()).into(), size);
            let proof = ConsistencyProof::from_digests(outputs(proof).iter());
            tree(new).verify_consistency(&tree(old), &proof).is_ok()
        }
    }
}

fn outputs(proof: &[Digest]) -> Vec<sha2::digest::Output<Sha256>> {
    proof.iter().map(|digest| (*digest.as_bytes()).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(count: u64) -> Vec<Digest> {
        (0..count).map(|index| Digest::of(&index.to_le_bytes())).collect()
    }

    /// All of these, of which the first so many are known by their subtrees only.
    fn leaves(all: &[Digest], first: usize) -> Leaves {
        let mut before = Frontier::default();
        all[..first].iter().for_each(|hash| before.push(*hash));
        let mut leaves = Leaves::after(before);
        all[first..].iter().for_each(|hash| leaves.push(*hash));
        leaves
    }

    fn root(all: &[Digest]) -> Digest {
        leaves(all, 0).root()
    }

    /// By the definition in RFC 6962, section 2.1.
    fn by_definition(hashes: &[Digest]) -> Digest {
        match hashes {
            [] => Digest::of(b""),
            [one] => *one,
            _ => {
                let (left, right) = hashes.split_at(usize::try_from(half(hashes.len() as u64)).unwrap());
                node(&by_definition(left), &by_definition(right))
            }
        }
    }

    #[test]
    fn roots_are_those_of_the_definition() {
        for count in 0..140 {
            let all = hashes(count);
            assert_eq!(root(&all), by_definition(&all), "{count}");
        }
    }

    #[test]
    fn every_consistency_proof_holds_and_no_other() {
        for new in 1..40_u64 {
            let all = hashes(new);
            for old in 1..=new {
                let older = &all[..usize::try_from(old).unwrap()];
                let (first, second) = (root(older), root(&all));
                let proof = leaves(&all, 0).prove_consistency(old);
                let holds =
                    |old: u64, proof: &[Digest]| check_consistency((old, &first), (new, &second), proof);
                assert!(holds(old, &proof), "{old} of {new}");
                for index in 0..proof.len() {
                    let mut bad = proof.clone();
                    bad[index] = Digest::of(b"other");
                    assert!(!holds(old, &bad), "{old} of {new}, {index}");
                }
                if old > 1 && old < new {
                    assert!(!check_consistency((old, &root(&older[1..])), (new, &second), &proof));
                }
            }
        }
    }

    #[test]
    fn proofs_are_the_same_without_the_first_records() {
        for count in 1..36_u64 {
            let all = hashes(count);
            let whole = leaves(&all, 0);
            for first in 0..=count {
                let part = leaves(&all, usize::try_from(first).unwrap());
                assert_eq!((part.root(), part.size()), (whole.root(), count));
                for sequence in first..count {
                    assert_eq!(part.prove_inclusion(sequence), whole.prove_inclusion(sequence));
                }
                for old in first.max(1)..=count {
                    assert_eq!(part.prove_consistency(old), whole.prove_consistency(old));
                }
            }
        }
    }
}
