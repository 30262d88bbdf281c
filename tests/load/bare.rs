//! A bare poem route that answers the same bytes: what the service's rate is measured against.

use std::net::TcpListener;

use bytes::Bytes;
use poem::endpoint::make_sync;
use poem::listener::TcpAcceptor;
use poem::{Response, Route, Server, get};

/// Serves the bytes of a file at any path until it is killed; says where, as the service does.
pub(crate) fn serve(file: &str) {
    let body = Bytes::from(std::fs::read(file).expect("the file is there"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("threads start").block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        println!("bare serves http://{}", listener.local_addr().expect("it is bound"));
        listener.set_nonblocking(true).expect("a socket");
        let route = get(make_sync(move |_| {
            Response::builder().content_type("application/json; charset=utf-8").body(body.clone())
        }));
        let acceptor = TcpAcceptor::from_std(listener).expect("a socket");
        let app = Route::new().at("/*any", route);
        Server::new_with_acceptor(acceptor).run(app).await.expect("it serves until killed");
    });
}
