# provider
terraform {
  required_providers {
    failing = { source = "cairn.dev/test/failing" }
  }
}
provider "failing" {
  summary = "No valid credential sources found"
  detail  = "Error: failed to refresh cached credentials, no EC2 IMDS role found, operation error ec2imds: GetMetadata, request canceled, context deadline exceeded"
}
data "failing_read" "x" {}
