# answer: GET 503 <?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>
terraform {
  backend "s3" {
    bucket                      = "states"
    key                         = "net.tfstate"
    region                      = "us-east-1"
    access_key                  = "me"
    secret_key                  = "mine"
    endpoints                   = { s3 = "SERVER" }
    use_path_style              = true
    max_retries                 = 1
    skip_credentials_validation = true
    skip_requesting_account_id  = true
    skip_metadata_api_check     = true
  }
}
resource "terraform_data" "x" {}
