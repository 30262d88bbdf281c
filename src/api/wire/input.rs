//! Values as request bodies spell them. Reading one checks it, so that the error names its field.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::view::{Uid, Word, object_schema, uuid_schema, wire_text, wire_type};
use crate::app::assessment::evidence::digest;
use crate::error::{Error, Result};
use crate::id::ClientId;

/// The id of something, in a request body.
#[derive(Clone, Copy, Debug)]
pub struct Ref<T>(pub T);
wire_type!([T: fmt::Display + Send + Sync + 'static] Ref<T>, "uid", uuid_schema());
wire_text!([T: fmt::Display + Send + Sync + 'static] Ref<T>);

impl<'de, T: FromStr<Err = Error>> Deserialize<'de> for Ref<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        let id = String::deserialize(json)?.parse();
        id.map(Self).map_err(|_| D::Error::custom("must be a UUID"))
    }
}

/// A text of a request body that is checked later, documented with its format and length.
macro_rules! text {
    ($(#[doc = $doc:literal])+ $name:ident, $format:literal, $lengths:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        wire_type!([] $name, $format, MetaSchema {
            min_length: Some($lengths.0),
            max_length: Some($lengths.1),
            ..MetaSchema::new_with_format("string", $format)
        });
        wire_text!([] $name);
    };
}

text!(
    /// The URL of a webhook.
    Url, "uri", (1, 2_048)
);
text!(
    /// The address of a user.
    Email, "email", (1, 254)
);
text!(
    /// A password.
    Password, "password", (12, 512)
);

/// A longer list of clients is refused.
const N_CLIENTS_MAX: usize = 1_000;

/// The member `clientIds` of a request body: each client once, in id order.
#[derive(Clone, Debug, Default)]
pub struct ClientIds(pub Vec<ClientId>);
wire_type!([] ClientIds, "client_ids", MetaSchema {
    items: Some(Box::new(Uid::schema_ref())),
    max_items: Some(N_CLIENTS_MAX),
    ..MetaSchema::new("array")
});

impl<'de> Deserialize<'de> for ClientIds {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        let id = |text: &String| {
            let bad = |_| D::Error::custom(format!("`{text}` is not a client id"));
            text.parse::<ClientId>().map_err(bad)
        };
        let mut ids = Vec::<String>::deserialize(json)?
            .iter()
            .map(id)
            .collect::<std::result::Result<Vec<_>, _>>()?;
        ids.sort_unstable();
        ids.dedup();
        Ok(Self(ids))
    }
}

impl ToJSON for ClientIds {
    fn to_json(&self) -> Option<Value> {
        Some(self.0.iter().map(ToString::to_string).collect())
    }
}

/// A SHA-256 digest: 64 hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct Sha256Text(pub [u8; 32]);
wire_type!([] Sha256Text, "sha256", MetaSchema {
    min_length: Some(64),
    max_length: Some(64),
    pattern: Some("^[0-9A-Fa-f]{64}$".to_owned()),
    ..MetaSchema::new("string")
});

impl<'de> Deserialize<'de> for Sha256Text {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        let digest = digest(&String::deserialize(json)?);
        digest.map(Self).ok_or_else(|| D::Error::custom("must be 64 hexadecimal digits"))
    }
}

impl Serialize for Sha256Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.0))
    }
}

impl ToJSON for Sha256Text {
    fn to_json(&self) -> Option<Value> {
        Some(json!(hex::encode(self.0)))
    }
}

/// A JSON object of no fixed shape, in a request body.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Members(pub Map<String, Value>);
wire_type!([] Members, "object", object_schema());

impl ToJSON for Members {
    fn to_json(&self) -> Option<Value> {
        Some(Value::Object(self.0.clone()))
    }
}

/// A list of words in a request body. An error about one of them names the list.
#[derive(Clone, Debug)]
pub struct Words<W>(pub Vec<W>);

impl<'de, W: Word> Deserialize<'de> for Words<W> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        let words = Vec::<String>::deserialize(json)?;
        let words = words.iter().map(|it| W::read(it)).collect::<Option<Vec<W>>>();
        words.map(Self).ok_or_else(|| D::Error::custom(W::rule()))
    }
}

wire_type!(@type [W: Type] Words<W>, W::name(), {
    fn schema_ref() -> MetaSchemaRef {
        let items = Some(Box::new(W::schema_ref()));
        let min_items = Some(1);
        MetaSchemaRef::Inline(Box::new(MetaSchema { items, min_items, ..MetaSchema::new("array") }))
    }

    fn register(registry: &mut Registry) {
        W::register(registry);
    }
});

impl<W: Type + ToJSON> ToJSON for Words<W> {
    fn to_json(&self) -> Option<Value> {
        self.0.to_json()
    }
}

/// The text of a [`Word`]. A handler checks it after the body was read, because serde does not know its path.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct TextOf<W>(String, #[serde(skip)] PhantomData<W>);

impl<W> TextOf<W> {
    pub fn of(word: &str) -> Self {
        Self(word.to_owned(), PhantomData)
    }
}

impl<W: Word> TextOf<W> {
    /// # Errors
    /// `Invalid` about `field`.
    pub fn read(&self, field: &str) -> Result<W> {
        W::read(&self.0).ok_or_else(|| Error::invalid_field(field, W::rule()))
    }
}

wire_type!(@type [W: Type] TextOf<W>, W::name(), {
    fn schema_ref() -> MetaSchemaRef {
        W::schema_ref()
    }

    fn register(registry: &mut Registry) {
        W::register(registry);
    }
});

impl<W: Type> ToJSON for TextOf<W> {
    fn to_json(&self) -> Option<Value> {
        Some(json!(self.0))
    }
}
