//! Word vectors: texts about the same subject have similar vectors even if they share no word.
//!
//! The model is a table of stems and their vectors, computed once from a sentence encoder (`docs/search.md`).
//! The vector of a text is the sum of its words' vectors; no other computation is needed.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use twox_hash::XxHash3_64;

/// The table: a head, one line per stem, a scale per stem, then the rows with four bits per number, then the
/// nearest other stems of each with their similarity.
static TABLE: &[u8] = include_bytes!("../data/meanings.bin");

const MAGIC: &[u8; 4] = b"SKE1";

/// The length of a vector.
pub(crate) const DIMENSIONS: usize = 192;

/// The parsed table.
pub(crate) struct Model {
    rows: HashMap<&'static str, u32, RandomState>,
    scales: Vec<f32>,
    numbers: &'static [u8],
    stems: Vec<&'static str>,
    /// The offset of the nearest stems and their similarities, in 255ths.
    near: usize,
    nearest: &'static [u8],
    nearness: &'static [u8],
    checksum: u64,
}

/// The bytes of one row.
const ROW: usize = DIMENSIONS / 2;

/// A direction. The zero vector if no word was known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Vector([f32; DIMENSIONS]);

impl Model {
    pub(crate) fn get() -> &'static Self {
        static MODEL: LazyLock<Model> = LazyLock::new(|| Model::read(TABLE).unwrap_or_else(Model::empty));
        &MODEL
    }

    /// An empty table, in which no text has a direction.
    fn empty() -> Self {
        Self {
            rows: HashMap::default(),
            scales: Vec::new(),
            numbers: &[],
            stems: Vec::new(),
            near: 0,
            nearest: &[],
            nearness: &[],
            checksum: 0,
        }
    }

    fn read(table: &'static [u8]) -> Option<Self> {
        let rest = table.strip_prefix(MAGIC)?;
        let (head, rest) = rest.split_first_chunk::<20>()?;
        let number = |at: usize| {
            let bytes = head.get(at * 4..at * 4 + 4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(bytes)).ok()
        };
        let (count, dimensions, bits, near, length) =
            (number(0)?, number(1)?, number(2)?, number(3)?, number(4)?);
        let (stems, rest) = rest.split_at_checked(length)?;
        let (scales, rest) = rest.split_at_checked(count * 4)?;
        let (numbers, rest) = rest.split_at_checked(count * ROW)?;
        let (nearest, nearness) = rest.split_at_checked(count * near * 2)?;
        let stems: Vec<&str> = std::str::from_utf8(stems).ok()?.split('\n').collect();
        let scales =
            scales.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let is_ours =
            dimensions == DIMENSIONS && bits == 4 && stems.len() == count && nearness.len() == count * near;
        is_ours.then(|| Self {
            rows: stems.iter().copied().zip(0..).collect(),
            scales: scales.collect(),
            numbers,
            stems,
            near,
            nearest,
            nearness,
            checksum: XxHash3_64::oneshot(table),
        })
    }

    /// Stems with a similar meaning, and their similarity.
    pub(crate) fn neighbours(&self, stem: &str) -> impl Iterator<Item = (&'static str, f32)> {
        let row = self.row(stem).map(|row| row as usize);
        let of_row = |all: &'static [u8], width: usize| {
            row.and_then(|row| all.get(row * width..(row + 1) * width)).unwrap_or_default()
        };
        let (nearest, nearness) = (of_row(self.nearest, self.near * 2), of_row(self.nearness, self.near));
        nearest.chunks_exact(2).zip(nearness).filter_map(|(place, nearness)| {
            let place = usize::from(u16::from_le_bytes([place[0], place[1]]));
            Some((*self.stems.get(place)?, f32::from(*nearness) / 255.0))
        })
    }

    /// Identifies the table.
    pub(crate) fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The row of a stem.
    pub(crate) fn row(&self, stem: &str) -> Option<u32> {
        self.rows.get(stem).copied()
    }

    /// Adds the vector of a stem with a weight.
    pub(crate) fn add(&self, sum: &mut Vector, stem: &str, weight: f32) {
        self.add_row(sum, self.row(stem), weight);
    }

    /// The same for a row, if there is one.
    pub(crate) fn add_row(&self, sum: &mut Vector, row: Option<u32>, weight: f32) {
        let Some(row) = row.map(|row| row as usize) else { return };
        let (Some(numbers), Some(scale)) =
            (self.numbers.get(row * ROW..(row + 1) * ROW), self.scales.get(row))
        else {
            return;
        };
        // Two numbers per byte, each from -8 to 7.
        let weight = weight * scale;
        for (pair, byte) in sum.0.chunks_exact_mut(2).zip(numbers) {
            pair[0] += weight * (f32::from(byte & 15) - 8.0);
            pair[1] += weight * (f32::from(byte >> 4) - 8.0);
        }
    }
}

impl Vector {
    pub(crate) const ZERO: Self = Self([0.0; DIMENSIONS]);

    /// The same direction with length one.
    pub(crate) fn unit(&self) -> Self {
        let length = self.0.iter().map(|number| number * number).sum::<f32>().sqrt();
        if length > 0.0 { Self(self.0.map(|number| number / length)) } else { self.clone() }
    }

    /// The weighted sum of two vectors.
    pub(crate) fn blend(&self, weight: f32, other: &Self, other_weight: f32) -> Self {
        let mut sum = self.0;
        for (a, b) in sum.iter_mut().zip(other.0) {
            *a = *a * weight + b * other_weight;
        }
        Self(sum)
    }

    /// The vector as bytes, for lengths up to [`LENGTH_MAX`].
    #[expect(clippy::cast_possible_truncation, reason = "a number beyond the range becomes the end of it")]
    pub(crate) fn quantised(&self) -> Row {
        self.0.map(|number| ((number / LENGTH_MAX * 127.0).round() as i8).cast_unsigned())
    }
}

/// The maximum length of a skill's vector.
pub(crate) const LENGTH_MAX: f32 = 1.7;

/// A vector as bytes, each a number from -128 to 127.
pub(crate) type Row = [u8; DIMENSIONS];

/// The greatest numbers with their positions, greatest first.
fn best(mut all: Vec<(i32, usize)>, limit: usize) -> Vec<(i32, usize)> {
    let order = |a: &(i32, usize), b: &(i32, usize)| b.0.cmp(&a.0).then(a.1.cmp(&b.1));
    if all.len() > limit {
        all.select_nth_unstable_by(limit, order);
        all.truncate(limit);
    }
    all.sort_unstable_by(order);
    all
}

/// The dot product of two quantised vectors.
fn product<const N: usize>(a: &[u8; N], b: &[u8; N]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed())).sum()
}

#[expect(clippy::cast_precision_loss, reason = "products of bytes are small")]
fn closeness(product: i32) -> f32 {
    product as f32 * (LENGTH_MAX / 127.0) * (LENGTH_MAX / 127.0)
}

/// The first numbers of a vector carry most information and are compared first.
pub(crate) const COARSE: usize = 64;
/// The remaining numbers.
pub(crate) const FINE: usize = DIMENSIONS - COARSE;
/// How many times more candidates than results are compared completely.
const REFINED: usize = 10;

/// The vectors of all skills as stored in the index. Their first parts are stored together, because reading
/// them dominates the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meanings<'a> {
    pub(crate) coarse: &'a [[u8; COARSE]],
    pub(crate) fine: &'a [[u8; FINE]],
}

impl Meanings<'_> {
    /// The number of vectors, if both halves have the same number.
    pub(crate) fn len(self) -> Option<usize> {
        (self.coarse.len() == self.fine.len()).then_some(self.coarse.len())
    }

    pub(crate) fn rows(self) -> impl Iterator<Item = Row> {
        self.coarse.iter().zip(self.fine).map(|(coarse, fine)| {
            let mut row = [0; DIMENSIONS];
            for (number, own) in row.iter_mut().zip(coarse.iter().chain(fine)) {
                *number = *own;
            }
            row
        })
    }

    /// The vectors closest to another one, best first: position and similarity.
    pub(crate) fn closest(self, asked: &Vector, limit: usize) -> Vec<(usize, f32)> {
        if *asked == Vector::ZERO {
            return Vec::new();
        }
        let asked = asked.quantised();
        let Some((beginning, _)) = asked.split_first_chunk() else { return Vec::new() };
        let rough = self.coarse.iter().map(|row| product(row, beginning)).zip(0..).collect();
        let likely = best(rough, limit * REFINED);
        let exact = likely.into_iter().map(|(_, at)| (self.product(&asked, at), at));
        best(exact.collect(), limit).into_iter().map(|(product, at)| (at, closeness(product))).collect()
    }

    /// The similarity of one vector to another.
    pub(crate) fn closeness(self, asked: &Vector, at: usize) -> f32 {
        closeness(self.product(&asked.quantised(), at))
    }

    fn product(self, asked: &Row, at: usize) -> i32 {
        let coarse =
            self.coarse.get(at).zip(asked.first_chunk()).map_or(0, |(row, asked)| product(row, asked));
        let fine = self.fine.get(at).zip(asked.last_chunk()).map_or(0, |(row, asked)| product(row, asked));
        coarse + fine
    }
}
