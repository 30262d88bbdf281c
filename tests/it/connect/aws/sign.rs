//! Signatures: AWS's own vectors, and those of its library for Python (botocore 1.44.5) for the same requests.

use posture::clock::Time;
use posture::connect::aws::sign::{
    Credentials, Endpoint, Request, authorization, query_text, sign,
};

fn credentials(session_token: Option<&str>) -> Credentials {
    Credentials {
        key_id: "AKIDEXAMPLE".to_owned(),
        secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
        session_token: session_token.map(str::to_owned),
    }
}

fn at(text: &str) -> Time {
    text.parse().unwrap()
}

fn get<'a>(path: &'a str, headers: &'a [(&'a str, &'a str)]) -> Request<'a> {
    Request { method: "GET", path, query: &[], headers, body: b"" }
}

#[test]
fn the_vectors_of_aws_are_met() {
    let headers = [("host", "host.foo.com"), ("date", "Mon, 09 Sep 2011 23:36:00 GMT")];
    let endpoint = Endpoint { region: "us-east-1", service: "host" };
    // get-utf8 and get-space of the published suite.
    for (path, signature) in [
        ("/%E1%88%B4", "57b1eb3df3b16a8479c0097b66c0b261cfd65b829419a3f2c3d05319722490b8"),
        ("/%20/foo", "2be9e587d1ee1f0fd02128724b86b4358ba3630d39f493b6e06610a19a50779e"),
    ] {
        let request = get(path, &headers);
        let said =
            authorization(&request, endpoint, &credentials(None), at("2011-09-09T23:36:00Z"));
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20110909/us-east-1/host/aws4_request, \
             SignedHeaders=date;host, Signature={signature}"
        );
        assert_eq!(said, expected, "{path}");
    }
    // The example of the user guide of IAM.
    let headers = [
        ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
        ("host", "iam.amazonaws.com"),
        ("x-amz-date", "20150830T123600Z"),
    ];
    let query = [("Version", "2010-05-08"), ("Action", "ListUsers")];
    let request = Request { query: &query, ..get("/", &headers) };
    let endpoint = Endpoint { region: "us-east-1", service: "iam" };
    let said = authorization(&request, endpoint, &credentials(None), at("2015-08-30T12:36:00Z"));
    let signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
    assert!(said.ends_with(&format!("Signature={signature}")), "{said}");
}

/// The signature, and the names of all headers that were added.
fn signed(
    request: &Request<'_>,
    region: &str,
    service: &str,
    token: Option<&str>,
) -> (String, String) {
    let endpoint = Endpoint { region, service };
    let added = sign(request, endpoint, &credentials(token), at("2026-11-23T10:15:00Z"));
    let names: Vec<&str> = added.iter().map(|it| it.0).collect();
    let authorization = &added.last().unwrap().1;
    (authorization.rsplit_once('=').unwrap().1.to_owned(), names.join(" "))
}

#[test]
fn requests_are_signed_as_by_the_library_of_aws() {
    let pairs = [
        ("Version", "2011-06-15"),
        ("RoleArn", "arn:aws:iam::123456789012:role/Posture"),
        ("ExternalId", "a/b c"),
        ("Action", "AssumeRole"),
    ];
    let body = query_text(&pairs);
    let expected = "Action=AssumeRole&ExternalId=a%2Fb%20c&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2FPosture\
                    &Version=2011-06-15";
    assert_eq!(body, expected);
    let headers = [
        ("host", "sts.eu-central-1.amazonaws.com"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let request = Request { method: "POST", body: body.as_bytes(), ..get("/", &headers) };
    let (signature, names) = signed(&request, "eu-central-1", "sts", None);
    assert_eq!(signature, "96a8f582eaf976dee4b0371ad6badc8580b004386300d78f6278bb0f841f89d2");
    assert_eq!(names, "x-amz-date authorization");

    let target = "com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101.DescribeTrails";
    let headers = [
        ("x-amz-target", target),
        ("host", "cloudtrail.us-east-1.amazonaws.com"),
        ("content-type", "application/x-amz-json-1.1"),
    ];
    let request = Request { method: "POST", body: b"{}", ..get("/", &headers) };
    let token = "IQoJb3JpZ2luX2VjEXAMPLE//token==";
    let (signature, names) = signed(&request, "us-east-1", "cloudtrail", Some(token));
    assert_eq!(signature, "00c971dcbc30761a96f886251a90c49f15a37c456cadf44cf013f6163f871b6e");
    assert_eq!(names, "x-amz-date x-amz-security-token authorization");
}

#[test]
fn s3_takes_the_path_as_it_is_and_others_encode_it_again() {
    let query = [("x", "a b/c"), ("publicAccessBlock", "")];
    assert_eq!(query_text(&query), "publicAccessBlock=&x=a%20b%2Fc");
    let request =
        Request { query: &query, ..get("/my%20bucket%C3%A9/", &[("host", "s3.amazonaws.com")]) };
    let (signature, names) = signed(&request, "us-east-1", "s3", Some("TOKEN"));
    assert_eq!(signature, "264584f3fdd7e4817e876d2440409b3fe939301a9d87687017d694bbbde38a29");
    assert_eq!(names, "x-amz-date x-amz-content-sha256 x-amz-security-token authorization");

    let query = [("maxResults", "50")];
    let headers = [("host", "guardduty.us-east-1.amazonaws.com")];
    let request = Request { query: &query, ..get("/detector/a%3Ab", &headers) };
    let (signature, _) = signed(&request, "us-east-1", "guardduty", None);
    assert_eq!(signature, "31f6ae9cad7e9b449cfac9e4a1b9e2adebe802f6b3d1bae81e1bd808cfed6fbc");
}

#[test]
fn what_is_logged_of_credentials_is_no_secret() {
    let text = format!("{:?}", credentials(Some("TOKEN")));
    assert!(
        text.contains("AKIDEXAMPLE") && !text.contains("wJalr") && !text.contains("TOKEN"),
        "{text}"
    );
}
