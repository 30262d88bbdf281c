//! Files of Prowler of any size.

use std::fs::File;
use std::io::{BufWriter, Write};

use posture::catalog::embedded;
use posture::clock::Clock;

use crate::harness::process::Folder;

/// Of a finding in a file of today's Prowler: texts and lists that are passed over.
pub(crate) const REAL_FINDING_BYTES: usize = 8_800;

/// Writes a file of findings of about `n_bytes_each`: the checks that the catalogue knows, each on
/// many buckets of ten accounts. Its size.
pub(crate) fn write(folder: &Folder, name: &str, n_findings: u64, n_bytes_each: usize) -> u64 {
    let path = folder.path().join(name);
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let catalog = embedded().unwrap();
    let checks: Vec<&String> = catalog.tools["prowler"].checks.keys().collect();
    let time_s = Clock::System.now().micros() / 1_000_000;
    for n in 0..n_findings {
        let check = checks[usize::try_from(n).unwrap() % checks.len()];
        let account = 100_000_000_000 + n % 10;
        let status = if n % 3 == 0 { "FAIL" } else { "PASS" };
        let begin = if n == 0 { "[" } else { "," };
        let finding = format!(
            r#"{begin}{{"metadata":{{"event_code":"{check}","product":{{"name":"Prowler"}}}},"severity":"High","status":"New","status_code":"{status}","status_detail":"Bucket bucket-{n} is as it was found.","finding_info":{{"title":"Check {check}","uid":"f-{n}"}},"resources":[{{"uid":"arn:aws:s3:::bucket-{n}","name":"bucket-{n}","type":"AwsS3Bucket","group":{{"name":"s3"}}}}],"class_uid":2004,"cloud":{{"account":{{"uid":"{account}"}},"provider":"aws"}},"time":{time_s},"unmapped":{{"compliance":{{"#
        );
        file.write_all(finding.as_bytes()).unwrap();
        let mut n_bytes = finding.len() + 4;
        let mut list = 0;
        while n_bytes < n_bytes_each {
            let comma = if list == 0 { "" } else { "," };
            let item = format!(r#"{comma}"LIST-{list}":["1.{list}","2.{list}","A.{list}"]"#);
            file.write_all(item.as_bytes()).unwrap();
            n_bytes += item.len();
            list += 1;
        }
        file.write_all(b"}}}\n").unwrap();
    }
    file.write_all(b"]").unwrap();
    file.into_inner().unwrap().sync_all().unwrap();
    std::fs::metadata(path).unwrap().len()
}
