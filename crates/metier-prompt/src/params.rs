//! Values for templates and predicates, bound by type.

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
/// Implemented for every type that derives `Serialize` and `JsonSchema`. The schema gives the fields before a
/// value exists.
pub trait Params: Serialize + JsonSchema + Send + Sync + 'static {}

impl<T: Serialize + JsonSchema + Send + Sync + 'static> Params for T {}

/// The params of a section without values, and of a tool without arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

/// A type of params, as far as it is known when a prompt is built.
#[derive(Debug, Clone)]
pub(crate) struct ParamsType {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    /// `None` if it is not a struct with named fields.
    pub(crate) fields: Option<BTreeSet<String>>,
}

impl ParamsType {
    /// The type, or `None` for sections without values.
    pub(crate) fn of<P: Params>() -> Option<Self> {
        if TypeId::of::<P>() == TypeId::of::<NoParams>() {
            return None;
        }
        // Templates see serialized values, whose field names may differ from those for deserializing.
        let schema = SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<P>();
        let is_struct = schema.get("type").and_then(Value::as_str) == Some("object");
        let fields = schema.get("properties").and_then(Value::as_object);
        let fields = fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
        Some(Self { id: TypeId::of::<P>(), name: type_name::<P>(), fields: is_struct.then_some(fields) })
    }

    /// The short type name for messages.
    pub(crate) fn short_name(&self) -> &'static str {
        short(self.name)
    }
}

/// A value whose type is only known to its users.
pub(crate) type Erased = dyn Any + Send + Sync;
type Fields = Result<Map<String, Value>, String>;

/// A value of some params type.
#[derive(Clone)]
pub struct Binding {
    id: TypeId,
    name: &'static str,
    value: Arc<Erased>,
    fields: fn(&Erased) -> Fields,
}

impl Binding {
    /// Binds a value by its type.
    pub fn new<P: Params>(value: P) -> Self {
        Self {
            id: TypeId::of::<P>(),
            name: type_name::<P>(),
            value: Arc::new(value),
            fields: |value| match value.downcast_ref::<P>().map(serde_json::to_value) {
                Some(Ok(Value::Object(fields))) => Ok(fields),
                Some(Err(error)) => Err(error.to_string()),
                _ => Err("it is not a struct with named fields".to_owned()),
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

/// Values for a prompt, one for each type.
#[derive(Debug, Clone, Default)]
pub struct Bindings(Vec<Binding>);

impl Bindings {
    /// Binds these values. Two values of the same type are an error, because one would be lost.
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

    /// Binds a value. It replaces an earlier one of the same type.
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
