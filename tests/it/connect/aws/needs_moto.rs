//! The tests that need moto. It verifies signatures, rights and the `ExternalId`.

use posture::connect::aws::AwsConfig;
use posture::connect::reading::StreamState::{Complete, Denied};
use posture::connect::reading::{Reading, StreamState};

use super::cloud::{decided, stream, streams};
use super::moto::{Moto, config};

const FIRST: &str = "222222222222";
const SECOND: &str = "333333333333";
/// Of the key. Only here does moto look at the trust policies of roles.
const OWN: &str = "123456789012";

/// A key of the service provider, and a role in each of two accounts. The second one lacks a right.
const SEED: &str = r"
iam = client('iam')
iam.create_user(UserName='posture')
iam.put_user_policy(UserName='posture', PolicyName='p',
    PolicyDocument=policy({'Action': 'sts:AssumeRole', 'Resource': '*'}))
key = iam.create_access_key(UserName='posture')['AccessKey']
roles = [('222222222222', 'iam:*'), ('333333333333', 'iam:*CredentialReport'), ('123456789012', 'iam:*')]
for account, iam_actions in roles:
    c = within(account)
    iam = client('iam', c)
    trust = {'Principal': {'AWS': '*'}, 'Action': 'sts:AssumeRole',
        'Condition': {'StringEquals': {'sts:ExternalId': 'e-' + account}}}
    iam.create_role(RoleName='Posture', AssumeRolePolicyDocument=policy(trust))
    actions = [iam_actions, 's3:*', 'ec2:Describe*', 'ec2:Get*', 'rds:Describe*', 'cloudtrail:*', 'guardduty:*', 'sts:*']
    iam.put_role_policy(RoleName='Posture', PolicyName='p', PolicyDocument=policy({'Action': actions, 'Resource': '*'}))
c = within('222222222222')
iam = client('iam', c)
iam.create_user(UserName='ann')
iam.create_login_profile(UserName='ann', Password='Secret.123456')
for n in range(3):
    client('s3', c).create_bucket(Bucket=f'first-{n}')
client('s3', c).create_bucket(Bucket='first.far', CreateBucketConfiguration={'LocationConstraint': 'eu-west-1'})
ec2 = client('ec2', c, 'eu-west-1')
vpc = ec2.create_vpc(CidrBlock='10.0.0.0/16')['Vpc']['VpcId']
group = ec2.create_security_group(GroupName='web', Description='web', VpcId=vpc)['GroupId']
ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[
    {'IpProtocol': 'tcp', 'FromPort': 22, 'ToPort': 22, 'IpRanges': [{'CidrIp': '0.0.0.0/0'}]}])
ec2.enable_ebs_encryption_by_default()
client('rds', c).create_db_instance(DBInstanceIdentifier='shop', Engine='postgres', DBInstanceClass='db.t3.micro',
    AllocatedStorage=20, MasterUsername='shop', MasterUserPassword='Secret.123456', StorageEncrypted=True, PubliclyAccessible=True)
client('s3', c).create_bucket(Bucket='logs')
trail = client('cloudtrail', c)
trail.create_trail(Name='main', S3BucketName='logs', IsMultiRegionTrail=True, EnableLogFileValidation=True)
trail.start_logging(Name='main')
regions = [it['RegionName'] for it in client('ec2', c).describe_regions()['Regions']]
print(json.dumps({'key': {k: key[k] for k in ['AccessKeyId', 'SecretAccessKey']}, 'group': group, 'regions': regions}))
";

fn not_complete(reading: &Reading) -> Vec<(&str, StreamState, &str)> {
    let all = streams(reading).filter(|it| it.state != Complete);
    all.map(|it| (it.name.as_str(), it.state, it.reason.as_str())).collect()
}

#[test]
#[ignore = "needs moto"]
fn accounts_are_read_with_signatures_that_others_verify() {
    let moto = Moto::start();
    let seeded = moto.seed(SEED);
    let regions: Vec<&str> =
        seeded["regions"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let first = config(FIRST, &seeded["key"], &format!("e-{FIRST}"));
    let free = moto.read(&first, &regions);
    assert_eq!(not_complete(&free), []);
    for it in [
        ("CLD-01", "non_compliant"),
        ("CLD-02", "compliant"),
        ("CLD-03", "non_compliant"),
        ("CLD-06", "compliant"),
        ("CLD-07", "non_compliant"),
        ("CLD-10", "non_compliant"),
        ("CLD-12", "non_compliant"),
        ("CLD-24", "non_compliant"),
        ("CLD-25", "partial"),
    ] {
        assert!(decided(&free).contains(&it), "{it:?}: {:?}", decided(&free));
    }
    let n_buckets = stream(&free, "buckets").n_rows;
    assert_eq!(n_buckets, 5, "one of them in another region, with a dot in its name");
    let ports = free.groups[3].observations.iter().find(|it| it.control == "CLD-10").unwrap();
    assert_eq!(ports.count.as_ref().unwrap().failing, [seeded["group"].as_str().unwrap()]);
    let users = free.groups[0].observations.iter().find(|it| it.control == "CLD-03").unwrap();
    assert!(users.findings.starts_with("ann"), "{}", users.findings);

    moto.enforce();
    let reading = moto.read(&first, &regions);
    // moto lists regions of other partitions, which do not know the session, and does not count the query of GuardDuty as signed.
    for (name, _, reason) in not_complete(&reading) {
        let why = match name {
            "guardduty_detectors" => "SignatureDoesNotMatch",
            "security_groups" | "databases" | "volume_encryption" => {
                "us-gov-east-1: the region does not accept the session"
            }
            _ => panic!("{name}: {reason}"),
        };
        assert!(reason.contains(why), "{name}: {reason}");
    }
    assert_eq!(reading.groups[..3], free.groups[..3], "with signatures it reads the same");
    assert_eq!(stream(&reading, "databases").n_rows, 1);
    are_refused(&moto, &first, &regions);

    let second = config(SECOND, &seeded["key"], &format!("e-{SECOND}"));
    let reading = moto.read(&second, &regions);
    let found = stream(&reading, "account_summary");
    let why = "not allowed; grant the action iam:GetAccountSummary";
    assert_eq!((found.state, found.reason.as_str()), (Denied, why), "{reading:?}");
    assert_eq!(stream(&reading, "buckets").n_rows, 0, "it is another account");
    assert!(!decided(&reading).iter().any(|it| ["CLD-01", "CLD-02"].contains(&it.0)));
}

fn are_refused(moto: &Moto, good: &AwsConfig, regions: &[&str]) {
    let mut wrong_secret = good.clone();
    wrong_secret.key.secret.push('x');
    let mut wrong_key = good.clone();
    "AKIAIOSFODNN7EXAMPLE".clone_into(&mut wrong_key.key.key_id);
    let role_arn = Some(format!("arn:aws:iam::{OWN}:role/Posture"));
    let own = AwsConfig {
        account: OWN.to_owned(),
        role_arn,
        external_id: format!("e-{OWN}"),
        ..good.clone()
    };
    assert_eq!(stream(&moto.read(&own, regions), "account_summary").state, Complete);
    let wrong_id = AwsConfig { external_id: "e-other".to_owned(), ..own };
    for (config, words, is_awaited) in [
        (wrong_secret, "the secret access key does not belong to the access key id", false),
        (wrong_key, "AWS does not know the access key", false),
        (wrong_id, "AWS does not let the access key use", true),
    ] {
        let reading = moto.read(&config, regions);
        let why = &stream(&reading, "sign_in").reason;
        assert!(why.starts_with(words), "{why}");
        assert_eq!((reading.awaits_consent, decided(&reading).len()), (is_awaited, 0), "{why}");
    }
}
