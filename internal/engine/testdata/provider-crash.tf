# provider
terraform {
  required_providers {
    failing = { source = "cairn.dev/test/failing" }
  }
}
data "failing_read" "x" { summary = "crash" }
