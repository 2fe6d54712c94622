# provider
terraform {
  required_providers {
    failing = {
      source  = "cairn.dev/test/failing"
      version = ">= 2"
    }
  }
}
data "failing_read" "x" {}
