//! The Merkle tree of RFC 6962 over the records' hashes: roots, and proofs with a few hashes.
//!
//! Roots are kept as a [`Frontier`], which grows by a record at a time; proofs are made from all hashes. Proofs are checked by `ct-merkle`, which
//! shares no code with what makes them.

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
    /// What a checkpoint says; nothing, if it has the wrong number of nodes for its size.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn from_parts(size: u64, nodes: Vec<Digest>) -> Option<Self> {
        (nodes.len() == size.count_ones() as usize).then_some(Self { size, nodes })
    }

    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn nodes(&self) -> &[Digest] {
        &self.nodes
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

/// The root over these hashes.
pub(crate) fn root(hashes: &[Digest]) -> Digest {
    let mut frontier = Frontier::default();
    for hash in hashes {
        frontier.push(*hash);
    }
    frontier.root()
}

/// Where a tree of this size, of at least two, is divided.
const fn half(size: usize) -> usize {
    size.next_power_of_two() / 2
}

/// The hashes that lead from a record to the root.
pub(crate) fn prove_inclusion(index: usize, hashes: &[Digest]) -> Vec<Digest> {
    if hashes.len() < 2 {
        return Vec::new();
    }
    let (left, right) = hashes.split_at(half(hashes.len()));
    let (mut proof, other) = match index.checked_sub(left.len()) {
        None => (prove_inclusion(index, left), right),
        Some(index) => (prove_inclusion(index, right), left),
    };
    proof.push(root(other));
    proof
}

/// The hashes that lead from the root over the first `old` records to the root over all.
pub(crate) fn prove_consistency(old: usize, hashes: &[Digest]) -> Vec<Digest> {
    consistency(old, hashes, true)
}

fn consistency(old: usize, hashes: &[Digest], is_whole: bool) -> Vec<Digest> {
    if old == hashes.len() {
        return if is_whole { Vec::new() } else { vec![root(hashes)] };
    }
    let (left, right) = hashes.split_at(half(hashes.len()));
    let (mut proof, other) = if old <= left.len() {
        (consistency(old, left, is_whole), right)
    } else {
        (consistency(old - left.len(), right, false), left)
    };
    proof.push(root(other));
    proof
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
        // Everything goes on from nothing, which shows nothing.
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

    fn leaves(count: usize) -> Vec<Digest> {
        (0..count).map(|index| Digest::of(&index.to_le_bytes())).collect()
    }

    /// By the definition in RFC 6962, section 2.1.
    fn by_definition(hashes: &[Digest]) -> Digest {
        match hashes {
            [] => Digest::of(b""),
            [one] => *one,
            _ => {
                let (left, right) = hashes.split_at(half(hashes.len()));
                node(&by_definition(left), &by_definition(right))
            }
        }
    }

    #[test]
    fn roots_are_those_of_the_definition() {
        for count in 0..140 {
            let all = leaves(count);
            assert_eq!(root(&all), by_definition(&all), "{count}");
        }
    }

    #[test]
    fn every_consistency_proof_holds_and_no_other() {
        for new in 1..40_usize {
            let all = leaves(new);
            for old in 1..=new {
                let (first, second) = (root(&all[..old]), root(&all));
                let proof = prove_consistency(old, &all);
                let holds = |old: u64, proof: &[Digest]| {
                    check_consistency((old, &first), (new as u64, &second), proof)
                };
                assert!(holds(old as u64, &proof), "{old} of {new}");
                for index in 0..proof.len() {
                    let mut bad = proof.clone();
                    bad[index] = Digest::of(b"other");
                    assert!(!holds(old as u64, &bad), "{old} of {new}, {index}");
                }
                if old > 1 && old < new {
                    assert!(!check_consistency(
                        (old as u64, &root(&all[1..old])),
                        (new as u64, &second),
                        &proof
                    ));
                }
            }
        }
    }
}
