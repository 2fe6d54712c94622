# apply
# provider
terraform {
  required_providers {
    failing = { source = "cairn.dev/test/failing" }
  }
}
resource "failing_thing" "x" {
  summary = "creating a thing"
  detail  = "api error LimitExceeded: The maximum number of VPCs has been reached."
}
