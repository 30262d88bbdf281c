//! What the document says of bodies and answers: the schema that schemars makes of a struct from what serde reads and
//! writes.
//!
//! poem-openapi's own schema cannot hold one. It carries each as the default of an empty schema, and [`unpack`] takes them
//! out of the document.

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{AddNullable, RecursiveTransform};
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value};

const DEFINITIONS: &str = "#/components/schemas/";

/// The schema of a struct or word, or of a list of them.
pub fn reference<T: JsonSchema>() -> MetaSchemaRef {
    // Every operation refers to the same few: their schemas are not made each time.
    if !T::inline_schema() {
        return MetaSchemaRef::Reference(T::schema_name().into_owned());
    }
    reference_to(&generator(SchemaSettings::openapi3()).subschema_for::<T>())
}

fn reference_to(schema: &Schema) -> MetaSchemaRef {
    let at = |place: &str| {
        let reference = schema.as_value().pointer(place)?.as_str()?;
        Some(MetaSchemaRef::Reference(reference.trim_start_matches(DEFINITIONS).to_owned()))
    };
    at("/$ref").unwrap_or_else(|| {
        let items = at("/items/$ref").map(Box::new);
        MetaSchemaRef::Inline(Box::new(MetaSchema { items, ..MetaSchema::new("array") }))
    })
}

/// Registers what is written of `T`, and of all that it contains.
pub fn register_answer<T: JsonSchema>(registry: &mut Registry) {
    register(registry, definitions::<T>(SchemaSettings::openapi3().for_serialize()));
}

/// Registers what is read of `T`, and of all that it contains.
pub fn register_body<T: JsonSchema + Example>(registry: &mut Registry) {
    let mut definitions = definitions::<T>(SchemaSettings::openapi3().for_deserialize());
    definitions[&*T::schema_name()]["example"] = T::example();
    register(registry, definitions);
}

/// A request body, as the document shows it.
pub trait Example {
    fn example() -> Value;
}

/// Registers what a parameter says.
pub fn register_word<T: JsonSchema>(registry: &mut Registry) {
    register(registry, definitions::<T>(SchemaSettings::openapi3()));
}

fn definitions<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let mut generator = generator(settings);
    generator.subschema_for::<T>();
    generator.take_definitions(true)
}

fn register(registry: &mut Registry, definitions: Map<String, Value>) {
    // poem-openapi drops what nothing refers to, and cannot see references in what it carries.
    let all_of: Vec<_> = definitions.keys().cloned().map(MetaSchemaRef::Reference).collect();
    for (name, schema) in definitions {
        let carrier =
            || MetaSchema { default: Some(schema), all_of: all_of.clone(), ..MetaSchema::ANY };
        registry.schemas.entry(name).or_insert_with(carrier);
    }
}

/// Puts the schemas of the document's components in the place of those that carry them.
pub fn unpack(components: &mut Value) {
    let schemas = components["schemas"].as_object_mut().into_iter().flatten();
    for (_, schema) in schemas {
        if let Some(carried) = schema.get_mut("default").map(Value::take).filter(Value::is_object) {
            *schema = carried;
        }
    }
}

/// `Option` is a member that may be absent; null is what [`super::reply::Null`] and [`super::body::Change`] allow.
fn generator(settings: SchemaSettings) -> SchemaGenerator {
    let settings = settings.with(|it| {
        it.transforms.retain(|it| !it.is::<AddNullable>());
        it.transforms.push(Box::new(RecursiveTransform(tidy)));
    });
    settings.into_generator()
}

fn tidy(schema: &mut Schema) {
    // The default of an absent field stands in its description.
    schema.remove("default");
    // An answer may get new members.
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        schema.remove("additionalProperties");
    }
    let null = Value::from("null");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|it| *it != null);
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(any)) = schema.get_mut("anyOf") {
        any.retain(|it| it.get("type") != Some(&null));
        if let [Value::Object(_)] = any.as_slice() {
            let only = any.remove(0);
            schema.remove("anyOf");
            schema.insert("allOf".to_owned(), Value::Array(vec![only]));
        }
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("\n\n", "\0").replace('\n', " ").replace('\0', "\n\n");
    }
}

/// Adds null to what `T` allows.
pub fn or_null<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let schema = generator.subschema_for::<T>();
    add_null(schema, &mut || T::json_schema(generator))
}

fn add_null(mut schema: Schema, referred: &mut dyn FnMut() -> Schema) -> Schema {
    if schema.get("$ref").is_none() {
        schema.insert("nullable".to_owned(), true.into());
        return schema;
    }
    // `nullable` beside a reference would not allow null, which the reference does not allow.
    let ty = referred().remove("type");
    json_schema!({"anyOf": [schema, {"type": ty, "enum": [null], "nullable": true}]})
}
