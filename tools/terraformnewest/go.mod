// Module terraformnewest pins the newest Terraform that can be built, whose plans make test-newest reads. It is for tests alone: from 1.6
// on Terraform is under the Business Source License, and nothing that Cairn ships has any of it.
module cairn.dev/tools/terraformnewest

go 1.26.6

require github.com/hashicorp/terraform v1.16.4
