# beside: .terraform.lock.hcl=provider "cairn.dev/test/failing" {
# beside: .terraform.lock.hcl=  version = "1.0.0"
# beside: .terraform.lock.hcl=  constraints = ">= 1.0.0"
# beside: .terraform.lock.hcl=  hashes = ["h1:0000000000000000000000000000000000000000000="]
# beside: .terraform.lock.hcl=}
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
