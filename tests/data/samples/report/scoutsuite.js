scoutsuite_results =
{"account_id": "123456789012", "environment": "default", "last_run": {"time": "2026-11-20 10:00:00+0000", "version": "5.14.0", "summary": {}}, "partition": "aws", "provider_code": "aws", "provider_name": "Amazon Web Services", "service_list": ["iam", "ec2", "s3"],
 "services": {
  "iam": {"filters": {}, "users": {"a": {}}, "findings": {
    "iam-root-account-no-mfa": {"checked_items": 1, "flagged_items": 0, "description": "Root Account without MFA", "level": "danger", "remediation": null, "items": []},
    "iam-user-without-mfa": {"checked_items": 9, "flagged_items": 2, "description": "User without MFA", "level": "danger", "remediation": "Enable MFA for all users", "items": ["iam.users.a", "iam.users.b"]}}},
  "ec2": {"findings": {
    "ec2-security-group-opens-SSH-port-to-all": {"checked_items": 0, "flagged_items": 0, "description": "Security Group Opens SSH Port to All", "level": "danger", "items": []},
    "ec2-unused-security-group": {"checked_items": 4, "flagged_items": 1, "description": "Unused Security Group", "level": "warning", "items": ["x"]},
    "odd": {"description": "Without numbers", "level": "warning"}}},
  "s3": null
 }}
