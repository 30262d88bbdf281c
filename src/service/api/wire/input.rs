//! Values as request bodies spell them. Reading one checks it, so that the error names its field.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::view::{Word, wire_text, wire_type};
use crate::app::assessment::evidence::digest;
use crate::error::{Error, Result};
use crate::id::ClientId;

/// The id of something, in a request body.
#[derive(Clone, Copy, Debug)]
pub struct Ref<T>(pub T);
wire_type!([T: fmt::Display + Send + Sync + 'static] Ref<T>, {"type": "string", "format": "uuid"});
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

        wire_type!([] $name, {
            "type": "string",
            "format": $format,
            "minLength": $lengths.0,
            "maxLength": $lengths.1,
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
wire_type!([] ClientIds, {
    "type": "array",
    "items": {"type": "string", "format": "uuid"},
    "maxItems": N_CLIENTS_MAX,
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

/// A SHA-256 digest: 64 hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct Sha256Text(pub [u8; 32]);
wire_type!([] Sha256Text, {
    "type": "string",
    "minLength": 64,
    "maxLength": 64,
    "pattern": "^[0-9A-Fa-f]{64}$",
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

/// A JSON object of no fixed shape, in a request body.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Members(pub Map<String, Value>);
wire_type!([] Members, {"type": "object", "additionalProperties": {}});

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

impl<W: JsonSchema> JsonSchema for Words<W> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        W::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": generator.subschema_for::<W>(), "minItems": 1})
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

impl<W: JsonSchema> JsonSchema for TextOf<W> {
    fn inline_schema() -> bool {
        W::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        W::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        W::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        W::json_schema(generator)
    }
}
