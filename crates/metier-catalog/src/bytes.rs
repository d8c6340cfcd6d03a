//! Serializes bytes of the index in one piece. By default, serde passes them one by one.

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes.as_ref())
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: for<'a> TryFrom<&'a [u8]>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_bytes(Piece(std::marker::PhantomData))
}

struct Piece<T>(std::marker::PhantomData<T>);

impl<T: for<'a> TryFrom<&'a [u8]>> Visitor<'_> for Piece<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("bytes of the right length")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        T::try_from(bytes).map_err(|_| E::invalid_length(bytes.len(), &self))
    }
}
