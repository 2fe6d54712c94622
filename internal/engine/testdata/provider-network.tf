# provider
terraform {
  required_providers {
    failing = { source = "cairn.dev/test/failing" }
  }
}
data "failing_read" "x" {
  summary = "reading things"
  detail  = "Get \"https://api.invalid/v1\": dial tcp: lookup api.invalid on 10.96.0.10:53: no such host"
}
