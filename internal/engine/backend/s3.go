package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	tables "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	buckets "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// s3 keeps states in a bucket and locks in it too (use_lockfile), or in a table (dynamodb_table).
type s3 struct{ plain }

func (s s3) Validate(c Config) error { return s.check(c) }

// tableTakes is how long DynamoDB may take to create a table.
const tableTakes = 3 * time.Minute

// lockID is the key that engines look for in the table.
const lockID = "LockID"

// Ensure creates the bucket, with versions, encryption and no public access, and the table of locks. It does not
// change what exists.
func (s s3) Ensure(ctx context.Context, c Config, environ []string) (made []string, err error) {
	in := arguments{c}
	aws, err := in.aws(ctx, environ)
	if err != nil {
		return nil, err
	}
	bucket := buckets.NewFromConfig(aws, func(o *buckets.Options) {
		o.UsePathStyle = in.flag("use_path_style") || in.flag("force_path_style")
		if at := in.endpoint("s3", "endpoint", environ); at != "" {
			o.BaseEndpoint = &at
		}
	})
	if made, err = makeBucket(ctx, bucket, in.text("bucket"), aws.Region); err != nil {
		return made, err
	}
	name := in.text("dynamodb_table")
	if name == "" {
		return made, nil
	}
	table := dynamodb.NewFromConfig(aws, func(o *dynamodb.Options) {
		if at := in.endpoint("dynamodb", "dynamodb_endpoint", environ); at != "" {
			o.BaseEndpoint = &at
		}
	})
	more, err := makeTable(ctx, table, name)
	return append(made, more...), err
}

func makeBucket(ctx context.Context, c *buckets.Client, name, region string) (made []string, err error) {
	_, err = c.HeadBucket(ctx, &buckets.HeadBucketInput{Bucket: &name})
	if err == nil || status(err) != http.StatusNotFound {
		return nil, describe(err, "check that bucket %s exists", name)
	}
	ask := &buckets.CreateBucketInput{Bucket: &name}
	if region != "us-east-1" { // which S3 takes no constraint for
		at := types.BucketLocationConstraint(region)
		ask.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: at}
	}
	if _, err = c.CreateBucket(ctx, ask); err != nil {
		return nil, describe(err, "make bucket %s", name)
	}
	made = append(made, "made bucket "+name)
	steps := []struct {
		what string
		do   func() error
	}{
		{"keep versions in", func() error {
			_, err := c.PutBucketVersioning(ctx, &buckets.PutBucketVersioningInput{
				Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{
					Status: types.BucketVersioningStatusEnabled},
			})
			return err
		}},
		{"encrypt", func() error {
			by := &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256}
			_, err := c.PutBucketEncryption(ctx, &buckets.PutBucketEncryptionInput{
				Bucket: &name, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{
					Rules: []types.ServerSideEncryptionRule{{ApplyServerSideEncryptionByDefault: by}},
				},
			})
			return err
		}},
		{"keep the public out of", func() error {
			yes := aws.Bool(true)
			_, err := c.PutPublicAccessBlock(ctx, &buckets.PutPublicAccessBlockInput{
				Bucket: &name, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
					BlockPublicAcls: yes, BlockPublicPolicy: yes, IgnorePublicAcls: yes, RestrictPublicBuckets: yes,
				},
			})
			return err
		}},
	}
	for _, step := range steps {
		switch err := step.do(); {
		case err == nil:
		case status(err) == http.StatusNotImplemented || status(err) == http.StatusMethodNotAllowed:
			made = append(made, fmt.Sprintf("this server cannot %s bucket %s", step.what, name))
		default: // the next try finds a bucket, and would leave it as it is
			return made, fmt.Errorf("bucket %s was created, but has to be completed by hand: "+
				"%w", name, describe(err, "%s bucket %s", step.what, name))
		}
	}
	return made, nil
}

func makeTable(ctx context.Context, c *dynamodb.Client, name string) (made []string, err error) {
	_, err = c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if _, missing := errors.AsType[*tables.ResourceNotFoundException](err); !missing {
		return nil, describe(err, "check that table %s exists", name)
	}
	_, err = c.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: tables.BillingModePayPerRequest,
		AttributeDefinitions: []tables.AttributeDefinition{
			{AttributeName: aws.String(lockID), AttributeType: tables.ScalarAttributeTypeS},
		},
		KeySchema:        []tables.KeySchemaElement{{AttributeName: aws.String(lockID), KeyType: tables.KeyTypeHash}},
		SSESpecification: &tables.SSESpecification{Enabled: aws.Bool(true)},
	})
	if err != nil {
		return nil, describe(err, "make table %s", name)
	}
	err = dynamodb.NewTableExistsWaiter(c).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, tableTakes)
	return []string{"made table " + name}, describe(err, "wait for table %s", name)
}

// status is what a server answered; 0 when it did not.
func status(err error) int {
	if answered, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return answered.HTTPStatusCode()
	}
	return 0
}

// describe words a server's error, without the request's numbers.
func describe(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	var said smithy.APIError
	switch {
	case errors.As(err, &said) && said.ErrorMessage() != "":
		return &Error{fmt.Sprintf("%s: %s: %s", what, said.ErrorCode(), said.ErrorMessage()), status(err)}
	case status(err) != 0:
		return &Error{fmt.Sprintf("%s: the server answered %d "+
			"%s", what, status(err), http.StatusText(status(err))), status(err)}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Error is an error from a backend's server.
type Error struct {
	Message string
	// Status of its answer.
	Status int
}

func (e *Error) Error() string { return e.Message }

// ForUser reports whether a retry would get the same answer, so that a user has to act.
func (e *Error) ForUser() bool {
	passes := []int{http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusConflict}
	return 400 <= e.Status && e.Status < 500 && !slices.Contains(passes, e.Status)
}

// arguments of an s3 backend, as far as they are about how to reach it.
type arguments struct{ Config }

func (a arguments) text(name string) string {
	if secret, ok := a.Secrets[name]; ok {
		return secret
	}
	var text string
	_ = json.Unmarshal(a.Values[name], &text) // the engine rejects what is no text
	return text
}

// texts is the list of an argument, or the one text of the older argument.
func (a arguments) texts(name, older string) (all []string) {
	if json.Unmarshal(a.Values[name], &all) == nil && len(all) > 0 {
		return all
	}
	if one := a.text(older); one != "" {
		return []string{one}
	}
	return nil
}

func (a arguments) flag(name string) bool {
	var on bool
	if json.Unmarshal(a.Values[name], &on) == nil {
		return on
	}
	return a.text(name) == "true"
}

// endpoint of a service: of argument endpoints, or of the older one, or of the environment.
func (a arguments) endpoint(service, older string, environ []string) string {
	var all map[string]string
	_ = json.Unmarshal(a.Values["endpoints"], &all)
	own := variable(environ, "AWS_ENDPOINT_URL_"+strings.ToUpper(service))
	return cmp.Or(all[service], a.text(older), own, variable(environ, "AWS_ENDPOINT_URL"))
}

// aws is how the engine would reach it: the arguments, then the environment, then what the pod has.
func (a arguments) aws(ctx context.Context, environ []string) (aws.Config, error) {
	region := cmp.Or(a.text("region"), variable(environ, "AWS_REGION"), variable(environ, "AWS_DEFAULT_REGION"))
	options := []func(*config.LoadOptions) error{config.WithRegion(region)}
	if profile := a.text("profile"); profile != "" {
		options = append(options, config.WithSharedConfigProfile(profile))
	}
	if files := a.texts("shared_credentials_files", "shared_credentials_file"); len(files) > 0 {
		options = append(options, config.WithSharedCredentialsFiles(files))
	}
	id, key, token := a.text("access_key"), a.text("secret_key"), a.text("token")
	if id == "" {
		id, key = variable(environ, "AWS_ACCESS_KEY_ID"), variable(environ, "AWS_SECRET_ACCESS_KEY")
		token = variable(environ, "AWS_SESSION_TOKEN")
	}
	if id != "" {
		options = append(options,
			config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(id, key, token)))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return c, fmt.Errorf("credentials for S3: %w", err)
	}
	var role struct {
		ARN string `json:"role_arn"`
	}
	_ = json.Unmarshal(a.Values["assume_role"], &role)
	if arn := role.ARN + a.text("role_arn"); arn != "" {
		c.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(c), arn))
	}
	return c, nil
}

// variable returns the value that a program would see: the last one.
func variable(environ []string, name string) (value string) {
	for _, pair := range environ {
		if key, v, _ := strings.Cut(pair, "="); key == name {
			value = v
		}
	}
	return value
}
