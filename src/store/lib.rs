//! What Posture keeps: rows in one file, or on a PostgreSQL server. It knows no connection to anything else.

use posture_core::{
    blocking, clock, engine, error, fair_limit, id, layout, page, paper, request, secret, text,
};

pub mod store;
