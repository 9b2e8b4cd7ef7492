package drift

import (
	"strings"
	"unicode"

	"github.com/stele-dev/stele/c4model"
)

// wireWords, in the technology or the description of a relationship, say that it is no import: it goes over a network, a
// queue, a file or a person's hand. The list is closed, so that a run is the same everywhere.
var wireWords = words(`http https rest restful grpc rpc thrift soap graphql json xml xmlrpc protobuf api apis endpoint endpoints webhook webhooks
	websocket websockets ws wss sse tcp udp ip tls ssl ssh sftp ftp smtp imap pop3 mqtt amqp stomp kafka rabbitmq nats sqs sns pubsub kinesis
	eventbus queue queues topic topics event events message messages messaging publish publishes published subscribe subscribes subscribed
	subscription broker stream streams sql jdbc odbc jpa dbapi redis memcached s3 blob bucket nfs smb cron email emails mail mails sms browser
	cli shell stdin stdout pipe socket sockets ipc deploys deploy deployed notifies notification notifications webrtc oauth oauth2 oidc saml ldap
	dns file files manually manual`)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// overWire gives the word by which a relationship says that no import can show it, "" when it says nothing of the kind.
func overWire(r c4model.Relationship) string {
	for _, text := range append([]string{r.Technology, r.Description}, r.Tags...) {
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			if wireWords[w] {
				return w
			}
		}
	}
	return ""
}
