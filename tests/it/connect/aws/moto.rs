//! moto, an AWS that others wrote, in which two accounts are made.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use posture::clock::Clock;
use posture::connect::aws::AwsConfig;
use posture::connect::aws::sign::Credentials;
use posture::connect::reading::Reading;
use serde_json::Value;

use super::cloud::read_through;
use crate::harness::port::free_port;
use crate::harness::process::wait_until;
use crate::harness::{http, tool};

const WAIT: Duration = Duration::from_mins(1);

/// What all seeds begin with: a client of a service in the account of a role.
const PRELUDE: &str = r"
import json, sys, boto3
from botocore.config import Config
url = sys.argv[1]
def client(service, key=None, region='us-east-1'):
    key = key or {'AccessKeyId': 'any', 'SecretAccessKey': 'any'}
    return boto3.client(service, endpoint_url=url, region_name=region, aws_access_key_id=key['AccessKeyId'],
        aws_secret_access_key=key['SecretAccessKey'], aws_session_token=key.get('SessionToken'),
        config=Config(retries={'max_attempts': 0}, s3={'addressing_style': 'path'}))
def within(account):
    role = f'arn:aws:iam::{account}:role/seed'
    return client('sts').assume_role(RoleArn=role, RoleSessionName='seed')['Credentials']
def policy(statement):
    return json.dumps({'Version': '2012-10-17', 'Statement': [{'Effect': 'Allow', **statement}]})
";

/// Killed when dropped.
pub struct Moto {
    child: Child,
    address: SocketAddr,
}

impl Moto {
    /// It takes everything without a signature, until it is told otherwise.
    pub fn start() -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let child = Command::new(tool::moto())
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &address.port().to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moto = Self { child, address };
        assert!(wait_until(WAIT, || TcpStream::connect(address).is_ok()), "moto does not start");
        moto
    }

    /// Runs a seed. What it prints is JSON.
    pub fn seed(&self, script: &str) -> Value {
        let done = Command::new(tool::moto())
            .args(["-c", &format!("{PRELUDE}{script}"), &format!("http://{}", self.address)])
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{err}");
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// From now on it verifies signatures and rights.
    pub fn enforce(&self) {
        let headers = [("Content-Type", "application/octet-stream")];
        let answer = http::send(self.address, "POST", "/moto-api/reset-auth", &headers, b"0");
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    pub fn read(&self, config: &AwsConfig, regions: &[&str]) -> Reading {
        let services = ["s3", "ec2", "rds", "guardduty", "cloudtrail"];
        let regional = regions.iter().flat_map(|it| services.map(|name| format!("{name}.{it}")));
        let account = format!("{}.s3-control.us-east-1", config.account);
        let others = ["iam".to_owned(), "sts.us-east-1".to_owned(), account];
        let at = format!("http://{}", self.address);
        let endpoints: BTreeMap<String, String> = regional
            .chain(others)
            .map(|it| (format!("https://{it}.amazonaws.com"), at.clone()))
            .collect();
        read_through(endpoints, config, Clock::System)
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Of a role in an account, with a key as moto makes it.
pub fn config(account: &str, key: &Value, external_id: &str) -> AwsConfig {
    let text = |name: &str| key[name].as_str().unwrap().to_owned();
    AwsConfig {
        account: account.to_owned(),
        role_arn: Some(format!("arn:aws:iam::{account}:role/Posture")),
        external_id: external_id.to_owned(),
        key: Credentials {
            key_id: text("AccessKeyId"),
            secret: text("SecretAccessKey"),
            session_token: None,
        },
    }
}
