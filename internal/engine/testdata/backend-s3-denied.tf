# answer: GET 403 <?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>
# answer: HEAD 403
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
