//! Values for templates and predicates, bound by their type.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::PromptError;

/// A struct whose fields are the values of a template: `$language` is the field `language`.
///
/// Everything that derives `Serialize` and `JsonSchema` is one; the schema tells which fields there are before there is a value.
pub trait Params: Serialize + JsonSchema + Send + Sync + 'static {}

impl<T: Serialize + JsonSchema + Send + Sync + 'static> Params for T {}

/// What a section without values has, and what a tool without arguments takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

/// A type of params, as far as it is known when a prompt is built.
#[derive(Debug, Clone)]
pub(crate) struct ParamsType {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    /// `None` where it is no struct with named fields.
    pub(crate) fields: Option<BTreeSet<String>>,
}

impl ParamsType {
    /// The type, or `None` for that of sections without values.
    pub(crate) fn of<P: Params>() -> Option<Self> {
        if TypeId::of::<P>() == TypeId::of::<NoParams>() {
            return None;
        }
        // Templates get values as they are written, and those may have other names than values that are read.
        let schema = SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<P>();
        let is_struct = schema.get("type").and_then(Value::as_str) == Some("object");
        let fields = schema.get("properties").and_then(Value::as_object);
        let fields = fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
        Some(Self { id: TypeId::of::<P>(), name: type_name::<P>(), fields: is_struct.then_some(fields) })
    }

    /// As messages name it.
    pub(crate) fn short_name(&self) -> &'static str {
        short(self.name)
    }
}

/// A value whose type only those know that take it.
pub(crate) type Erased = dyn Any + Send + Sync;
type Fields = Result<Map<String, Value>, String>;

/// A value of some type of params.
#[derive(Clone)]
pub struct Binding {
    id: TypeId,
    name: &'static str,
    value: Arc<Erased>,
    fields: fn(&Erased) -> Fields,
}

impl Binding {
    /// The value of its type.
    pub fn new<P: Params>(value: P) -> Self {
        Self {
            id: TypeId::of::<P>(),
            name: type_name::<P>(),
            value: Arc::new(value),
            fields: |value| match value.downcast_ref::<P>().map(serde_json::to_value) {
                Some(Ok(Value::Object(fields))) => Ok(fields),
                Some(Err(error)) => Err(error.to_string()),
                _ => Err("it is no struct with named fields".to_owned()),
            },
        }
    }

    pub(crate) fn id(&self) -> TypeId {
        self.id
    }

    pub(crate) fn value(&self) -> &Erased {
        &*self.value
    }

    /// The fields by name.
    pub(crate) fn fields(&self) -> Fields {
        (self.fields)(&*self.value)
    }

    pub(crate) fn short_name(&self) -> &'static str {
        short(self.name)
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Binding").field(&self.name).finish()
    }
}

/// Values for a prompt, one of each type.
#[derive(Debug, Clone, Default)]
pub struct Bindings(Vec<Binding>);

impl Bindings {
    /// These values. Two of one type are an error: one of them would be lost.
    pub fn all(values: impl IntoIterator<Item = Binding>) -> Result<Self, PromptError> {
        let mut bindings = Self::default();
        for value in values {
            if bindings.get(value.id).is_some() {
                return Err(PromptError::BoundTwice { params: value.short_name() });
            }
            bindings.0.push(value);
        }
        Ok(bindings)
    }

    /// Binds a value in the place of an earlier one of its type.
    pub fn bind(&mut self, value: Binding) {
        self.0.retain(|bound| bound.id != value.id);
        self.0.push(value);
    }

    pub(crate) fn get(&self, id: TypeId) -> Option<&Binding> {
        self.0.iter().find(|bound| bound.id == id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Binding> {
        self.0.iter()
    }
}

/// `a::b::Review<c::D>` as `Review<c::D>`.
fn short(name: &'static str) -> &'static str {
    let end = name.find('<').unwrap_or(name.len());
    let begin = name[..end].rfind("::").map_or(0, |colons| colons + 2);
    &name[begin..]
}
