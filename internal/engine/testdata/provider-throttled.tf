# provider
terraform {
  required_providers {
    failing = { source = "cairn.dev/test/failing" }
  }
}
data "failing_read" "x" {
  summary = "reading things"
  detail  = "operation error EC2: DescribeVpcs, https response error StatusCode: 503, api error RequestLimitExceeded: Request limit exceeded."
}
