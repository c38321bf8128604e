"""AWS's command line, as Debian has it, with the endpoint and the key in its environment.

Its commands run in this process: starting it takes half a second each time. It brings a botocore of its own, so boto3 can't
be in the same process.
"""

import contextlib
import io
import json
import os
import subprocess
import tempfile
import unittest
import unittest.mock

from awscli.clidriver import create_clidriver

from server import Server


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server.start()
        cls.addClassCleanup(cls.server.remove)
        home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(home.cleanup)
        kept = {name: value for name, value in os.environ.items() if not name.startswith('AWS_') or name == 'AWS_DATA_PATH'}
        cls.enterClassContext(unittest.mock.patch.dict(os.environ, {
            **kept, 'HOME': home.name, 'AWS_ACCESS_KEY_ID': cls.server.key_id, 'AWS_SECRET_ACCESS_KEY': cls.server.secret,
            'AWS_DEFAULT_REGION': 'eu-central-1', 'AWS_DEFAULT_OUTPUT': 'json', 'AWS_PAGER': '', 'AWS_EC2_METADATA_DISABLED': 'true'}, clear=True))
        cls.driver = create_clidriver()

    def line(self, *arguments):
        return ['dynamodb', '--endpoint-url', self.server.dynamodb, *(a if isinstance(a, str) else json.dumps(a) for a in arguments)]

    def command(self, *arguments):
        """Runs a command and returns its exit code and what it prints."""
        line = self.line(*arguments)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = self.driver.main(line)
        return code, out.getvalue(), err.getvalue()

    def aws(self, *arguments):
        """Runs a command, which must succeed, and returns what it prints."""
        code, out, err = self.command(*arguments)
        self.assertEqual(code, 0, err)
        return json.loads(out) if out.strip() else None

    def fails(self, error, *arguments):
        """Runs a command, which must fail with that error."""
        code, _, err = self.command(*arguments)
        self.assertNotEqual(code, 0)
        self.assertIn(f'({error})', err)
        return err

    def table(self, name):
        """Makes a table of an artist's songs."""
        made = self.aws(
            'create-table', '--table-name', name, '--attribute-definitions', 'AttributeName=artist,AttributeType=S', 'AttributeName=song,AttributeType=S',
            '--key-schema', 'AttributeName=artist,KeyType=HASH', 'AttributeName=song,KeyType=RANGE', '--billing-mode', 'PAY_PER_REQUEST')
        self.assertEqual(made['TableDescription']['TableName'], name)
        self.aws('wait', 'table-exists', '--table-name', name)

    def test_as_a_process(self):
        done = subprocess.run(['/usr/bin/aws', *self.line('list-tables', '--query', 'TableNames[?@ == `none`]')], capture_output=True, text=True)
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, []), done.stderr)

    def test_tables(self):
        self.table('Tables')
        described = self.aws('describe-table', '--table-name', 'Tables')['Table']
        self.assertEqual((described['TableStatus'], described['ItemCount']), ('ACTIVE', 0))
        self.assertIn('Tables', self.aws('list-tables')['TableNames'])
        self.aws('update-time-to-live', '--table-name', 'Tables', '--time-to-live-specification', 'Enabled=true,AttributeName=until')
        self.assertEqual(self.aws('describe-time-to-live', '--table-name', 'Tables')['TimeToLiveDescription'], {'TimeToLiveStatus': 'ENABLED', 'AttributeName': 'until'})
        self.aws('tag-resource', '--resource-arn', described['TableArn'], '--tags', 'Key=team,Value=red')
        self.assertEqual(self.aws('list-tags-of-resource', '--resource-arn', described['TableArn'])['Tags'], [{'Key': 'team', 'Value': 'red'}])
        self.aws('delete-table', '--table-name', 'Tables')
        self.aws('wait', 'table-not-exists', '--table-name', 'Tables')
        self.fails('ResourceNotFoundException', 'describe-table', '--table-name', 'Tables')

    def test_items(self):
        self.table('Items')
        key = {'artist': {'S': 'Acme'}, 'song': {'S': 'Happy Day'}}
        self.aws('put-item', '--table-name', 'Items', '--item', {**key, 'awards': {'N': '1'}, 'cover': {'B': 'AP8='}}, '--return-consumed-capacity', 'TOTAL')
        got = self.aws('get-item', '--table-name', 'Items', '--key', key, '--consistent-read', '--projection-expression', 'awards, cover')
        self.assertEqual(got['Item'], {'awards': {'N': '1'}, 'cover': {'B': 'AP8='}})
        updated = self.aws('update-item', '--table-name', 'Items', '--key', key, '--update-expression', 'ADD awards :n', '--return-values', 'UPDATED_NEW',
                           '--condition-expression', '#a < :most', '--expression-attribute-names', {'#a': 'awards'},
                           '--expression-attribute-values', {':n': {'N': '2'}, ':most': {'N': '2'}})
        self.assertEqual(updated['Attributes'], {'awards': {'N': '3'}})
        self.fails('ConditionalCheckFailedException', 'put-item', '--table-name', 'Items', '--item', key, '--condition-expression', 'attribute_not_exists(song)')
        self.assertIsNone(self.aws('delete-item', '--table-name', 'Items', '--key', key))
        self.assertIsNone(self.aws('get-item', '--table-name', 'Items', '--key', key))

    def test_many_items(self):
        self.table('Many')
        puts = [{'PutRequest': {'Item': {'artist': {'S': f'a{i % 2}'}, 'song': {'S': f'{i:02}'}, 'year': {'N': str(2000 + i)}}}} for i in range(20)]
        self.assertEqual(self.aws('batch-write-item', '--request-items', {'Many': puts}), {'UnprocessedItems': {}})
        found = self.aws('query', '--table-name', 'Many', '--key-condition-expression', 'artist = :a AND song BETWEEN :from AND :to', '--no-scan-index-forward',
                         '--expression-attribute-values', {':a': {'S': 'a1'}, ':from': {'S': '03'}, ':to': {'S': '07'}})
        self.assertEqual([item['song']['S'] for item in found['Items']], ['07', '05', '03'])
        pages, token = [], []
        while True:
            page = self.aws('scan', '--table-name', 'Many', '--max-items', '8', '--page-size', '5', *token)
            pages.append([item['song']['S'] for item in page['Items']])
            if 'NextToken' not in page:
                break
            token = ['--starting-token', page['NextToken']]
        self.assertEqual([len(page) for page in pages], [8, 8, 4])
        self.assertEqual(sorted(song for page in pages for song in page), [f'{i:02}' for i in range(20)])
        got = self.aws('batch-get-item', '--request-items', {'Many': {'Keys': [{'artist': {'S': 'a0'}, 'song': {'S': '04'}}]}})
        self.assertEqual(got['Responses']['Many'][0]['year'], {'N': '2004'})

    def test_transactions_and_statements(self):
        self.table('Both')
        key = {'artist': {'S': 'Acme'}, 'song': {'S': 'One'}}
        put = {'Put': {'TableName': 'Both', 'Item': key, 'ConditionExpression': 'attribute_not_exists(song)'}}
        self.aws('transact-write-items', '--transact-items', [put])
        said = self.fails('TransactionCanceledException', 'transact-write-items', '--transact-items', [put])
        self.assertIn('[ConditionalCheckFailed]', said)
        got = self.aws('transact-get-items', '--transact-items', [{'Get': {'TableName': 'Both', 'Key': key}}])
        self.assertEqual(got['Responses'], [{'Item': key}])
        self.aws('execute-statement', '--statement', "UPDATE \"Both\" SET awards = 5 WHERE artist = 'Acme' AND song = 'One'")
        found = self.aws('execute-statement', '--statement', 'SELECT awards FROM "Both" WHERE artist = ?', '--parameters', [{'S': 'Acme'}])
        self.assertEqual(found['Items'], [{'awards': {'N': '5'}}])
        self.aws('execute-transaction', '--transact-statements', [{'Statement': 'INSERT INTO "Both" VALUE {\'artist\': \'Acme\', \'song\': ?}', 'Parameters': [{'S': 'Two'}]}])
        self.assertEqual(self.aws('scan', '--table-name', 'Both', '--select', 'COUNT')['Count'], 2)


if __name__ == '__main__':
    unittest.main()
