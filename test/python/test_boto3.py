"""boto3, as Debian has it, unchanged but for the endpoint: its clients and its resources."""

import unittest
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary
from botocore.config import Config
from botocore.exceptions import ClientError

from server import Server

PROJECTS = {
    'TableName': 'Projects',
    'AttributeDefinitions': [{'AttributeName': name, 'AttributeType': kind} for name, kind in
                             [('organisation_id', 'S'), ('name', 'S'), ('last_updated', 'S'), ('budget', 'N')]],
    'KeySchema': [{'AttributeName': 'organisation_id', 'KeyType': 'HASH'}, {'AttributeName': 'name', 'KeyType': 'RANGE'}],
    'ProvisionedThroughput': {'ReadCapacityUnits': 5, 'WriteCapacityUnits': 5},
    'LocalSecondaryIndexes': [{
        'IndexName': 'by_time', 'Projection': {'ProjectionType': 'ALL'},
        'KeySchema': [{'AttributeName': 'organisation_id', 'KeyType': 'HASH'}, {'AttributeName': 'last_updated', 'KeyType': 'RANGE'}]}],
    'GlobalSecondaryIndexes': [{
        'IndexName': 'by_budget', 'KeySchema': [{'AttributeName': 'budget', 'KeyType': 'HASH'}], 'Projection': {'ProjectionType': 'KEYS_ONLY'},
        'ProvisionedThroughput': {'ReadCapacityUnits': 1, 'WriteCapacityUnits': 1}}],
    'StreamSpecification': {'StreamEnabled': True, 'StreamViewType': 'NEW_IMAGE'},
}


class Boto3(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server.start()
        cls.addClassCleanup(cls.server.remove)
        cls.session = boto3.Session(aws_access_key_id=cls.server.key_id, aws_secret_access_key=cls.server.secret, region_name='eu-central-1')
        cls.where = {'endpoint_url': cls.server.dynamodb, 'config': Config(retries={'max_attempts': 1})}
        cls.client = cls.session.client('dynamodb', **cls.where)
        cls.resource = cls.session.resource('dynamodb', **cls.where)

    def setUp(self):
        self.table = self.resource.create_table(**PROJECTS)
        self.table.wait_until_exists()

    def tearDown(self):
        self.table.delete()
        self.table.wait_until_not_exists()

    def fails(self, code, call, **parameters):
        """Expects an error of that name, and returns it."""
        with self.assertRaises(ClientError) as caught:
            call(**parameters)
        self.assertEqual(caught.exception.response['Error']['Code'], code)
        return caught.exception

    def test_table(self):
        self.table.reload()
        self.assertEqual(self.table.table_status, 'ACTIVE')
        self.assertEqual(self.table.key_schema, PROJECTS['KeySchema'])
        self.assertEqual([page['TableNames'] for page in self.client.get_paginator('list_tables').paginate()], [['Projects']])
        with self.assertRaises(self.client.exceptions.ResourceInUseException):
            self.client.create_table(**PROJECTS)
        arn = self.table.table_arn
        self.client.tag_resource(ResourceArn=arn, Tags=[{'Key': 'team', 'Value': 'red'}])
        self.assertEqual(self.client.list_tags_of_resource(ResourceArn=arn)['Tags'], [{'Key': 'team', 'Value': 'red'}])
        self.client.update_time_to_live(TableName='Projects', TimeToLiveSpecification={'Enabled': True, 'AttributeName': 'until'})
        described = self.client.describe_time_to_live(TableName='Projects')['TimeToLiveDescription']
        self.assertEqual(described, {'TimeToLiveStatus': 'ENABLED', 'AttributeName': 'until'})

    def test_items(self):
        key = {'organisation_id': 'types', 'name': 'all'}
        item = {
            **key, 'number': Decimal('1.5'), 'exact': Decimal('1234567890.1234567890123456789012345678'), 'small': Decimal('1E-130'), 'bytes': Binary(b'\x00\xff'),
            'yes': True, 'nothing': None, 'list': [1, 'ä', [False]], 'map': {'$deep': {'x': Decimal(0)}}, 'words': {'a', 'b'}, 'numbers': {Decimal(1), Decimal('2.5')},
            'blobs': {Binary(b'1'), Binary(b'2')}, 'empty': '', '_own': 1,
        }
        self.table.put_item(Item=item)
        self.assertEqual(self.table.get_item(Key=key, ConsistentRead=True)['Item'], item)
        updated = self.table.update_item(
            Key=key, UpdateExpression='SET #n = #n + :n, #l = list_append(#l, :l) REMOVE nothing DELETE words :w', ReturnValues='UPDATED_NEW',
            ExpressionAttributeNames={'#n': 'number', '#l': 'list'}, ExpressionAttributeValues={':n': Decimal('0.25'), ':l': [None], ':w': {'a'}})
        self.assertEqual(updated['Attributes'], {'number': Decimal('1.75'), 'list': [1, 'ä', [False], None], 'words': {'b'}})
        with self.assertRaises(self.client.exceptions.ConditionalCheckFailedException) as caught:
            self.table.put_item(Item=key, ConditionExpression=Attr('yes').ne(True) | ~Attr('numbers').contains(1))
        self.assertEqual(caught.exception.response['Error']['Message'], 'The conditional request failed')
        self.assertEqual(self.table.delete_item(Key=key, ReturnValues='ALL_OLD', ConditionExpression=Attr('words').size().eq(1))['Attributes']['yes'], True)
        self.assertNotIn('Item', self.table.get_item(Key=key))
        self.fails('ValidationException', self.table.put_item, Item={'name': 'x'})
        with self.assertRaises(self.client.exceptions.ResourceNotFoundException):
            self.resource.Table('nowhere').get_item(Key={'id': 1})

    def test_queries(self):
        with self.table.batch_writer(overwrite_by_pkeys=['organisation_id', 'name']) as batch:
            for i in range(60):
                batch.put_item(Item={'organisation_id': f'o{i % 2}', 'name': f'{i:03}', 'last_updated': f'2018-{i % 12 + 1:02}', 'budget': i % 5})
            batch.put_item(Item={'organisation_id': 'o0', 'name': '000', 'last_updated': '2019-01', 'budget': 0})
            batch.delete_item(Key={'organisation_id': 'o1', 'name': '059'})
        found = self.table.query(KeyConditionExpression=Key('organisation_id').eq('o0') & Key('name').between('010', '020'), FilterExpression=Attr('budget').is_in([0, 4]))
        self.assertEqual([item['name'] for item in found['Items']], ['010', '014', '020'])
        self.assertEqual((found['Count'], found['ScannedCount']), (3, 6))
        late = self.table.query(IndexName='by_time', ScanIndexForward=False, Limit=2, KeyConditionExpression=Key('organisation_id').eq('o0') & Key('last_updated').gt('2018-11'))
        self.assertEqual([item['last_updated'] for item in late['Items']], ['2019-01'])
        pages = list(self.client.get_paginator('query').paginate(
            TableName='Projects', IndexName='by_budget', KeyConditionExpression='budget = :b', ExpressionAttributeValues={':b': {'N': '2'}}, PaginationConfig={'PageSize': 5}))
        items = [item for page in pages for item in page['Items']]
        self.assertEqual(len({item['name']['S'] for item in items}), 12)
        self.assertEqual(items[0].keys(), {'organisation_id', 'name', 'budget'})
        self.assertEqual([page['Count'] for page in pages], [5, 5, 2])
        total = sum(page['Count'] for segment in range(3) for page in self.client.get_paginator('scan').paginate(
            TableName='Projects', Segment=segment, TotalSegments=3, Select='COUNT', PaginationConfig={'PageSize': 7}))
        self.assertEqual(total, 59)
        keys = [{'organisation_id': f'o{i % 2}', 'name': f'{i:03}'} for i in range(58, 62)]
        got = self.resource.batch_get_item(RequestItems={'Projects': {'Keys': keys, 'ProjectionExpression': 'budget'}})
        self.assertEqual((got['Responses']['Projects'], got['UnprocessedKeys']), ([{'budget': 3}], {}))

    def test_older_parameters(self):
        self.table.put_item(Item={'organisation_id': 'o', 'name': 'n', 'budget': 1}, Expected={'name': {'Exists': False}})
        self.table.update_item(Key={'organisation_id': 'o', 'name': 'n'}, AttributeUpdates={'budget': {'Action': 'ADD', 'Value': 2}})
        found = self.table.query(KeyConditions={'organisation_id': {'ComparisonOperator': 'EQ', 'AttributeValueList': ['o']}}, AttributesToGet=['budget'])
        self.assertEqual(found['Items'], [{'budget': 3}])
        self.fails('ConditionalCheckFailedException', self.table.delete_item, Key={'organisation_id': 'o', 'name': 'n'},
                   Expected={'budget': {'Value': 1}})

    def test_transactions(self):
        def put(name, **more):
            return {'Put': {'TableName': 'Projects', 'Item': {'organisation_id': {'S': 'o'}, 'name': {'S': name}}, **more}}
        fresh = {'ConditionExpression': 'attribute_not_exists(organisation_id)', 'ReturnValuesOnConditionCheckFailure': 'ALL_OLD'}
        self.client.transact_write_items(TransactItems=[put('a', **fresh), put('b')])
        with self.assertRaises(self.client.exceptions.TransactionCanceledException) as caught:
            self.client.transact_write_items(TransactItems=[put('c'), put('a', **fresh)])
        reasons = caught.exception.response['CancellationReasons']
        self.assertEqual(reasons, [{'Code': 'None'}, {
            'Code': 'ConditionalCheckFailed', 'Message': 'The conditional request failed', 'Item': {'organisation_id': {'S': 'o'}, 'name': {'S': 'a'}}}])
        self.assertIn('[None, ConditionalCheckFailed]', caught.exception.response['Error']['Message'])
        got = self.client.transact_get_items(TransactItems=[
            {'Get': {'TableName': 'Projects', 'Key': {'organisation_id': {'S': 'o'}, 'name': {'S': name}}}} for name in 'abc'])
        self.assertEqual(['Item' in response for response in got['Responses']], [True, True, False])
        for _ in range(2):
            self.client.transact_write_items(ClientRequestToken='token', TransactItems=[{'Update': {
                'TableName': 'Projects', 'Key': {'organisation_id': {'S': 'o'}, 'name': {'S': 'a'}},
                'UpdateExpression': 'ADD n :n', 'ExpressionAttributeValues': {':n': {'N': '1'}}}}])
        self.assertEqual(self.table.get_item(Key={'organisation_id': 'o', 'name': 'a'})['Item']['n'], 1)

    def test_streams(self):
        streams = self.session.client('dynamodbstreams', **self.where)
        arn = streams.list_streams(TableName='Projects')['Streams'][0]['StreamArn']
        self.assertEqual(arn, self.table.latest_stream_arn)
        shard = streams.describe_stream(StreamArn=arn)['StreamDescription']['Shards'][0]['ShardId']
        self.table.put_item(Item={'organisation_id': 'o', 'name': 'n', 'budget': 1})
        self.table.delete_item(Key={'organisation_id': 'o', 'name': 'n'})
        iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType='TRIM_HORIZON')['ShardIterator']
        answer = streams.get_records(ShardIterator=iterator)
        self.assertEqual([record['eventName'] for record in answer['Records']], ['INSERT', 'REMOVE'])
        self.assertEqual(answer['Records'][0]['dynamodb']['NewImage']['budget'], {'N': '1'})
        self.assertEqual(streams.get_records(ShardIterator=answer['NextShardIterator'])['Records'], [])

    def test_partiql(self):
        self.client.execute_statement(Statement="INSERT INTO Projects VALUE {'organisation_id': ?, 'name': 'n', 'budget': 7}", Parameters=[{'S': 'o'}])
        found = self.client.execute_statement(Statement="SELECT budget FROM Projects WHERE organisation_id = 'o' AND begins_with(name, 'n')")
        self.assertEqual(found['Items'], [{'budget': {'N': '7'}}])
        with self.assertRaises(self.client.exceptions.DuplicateItemException):
            self.client.execute_statement(Statement="INSERT INTO Projects VALUE {'organisation_id': 'o', 'name': 'n'}")
        answers = self.client.batch_execute_statement(Statements=[
            {'Statement': "UPDATE Projects SET budget = 8 WHERE organisation_id = 'o' AND name = 'n'"},
            {'Statement': "DELETE FROM Projects WHERE organisation_id = 'o' AND name = 'n' AND budget = 1"}])['Responses']
        self.assertEqual([answer.get('Error', {}).get('Code') for answer in answers], [None, 'ConditionalCheckFailed'])
        with self.assertRaises(self.client.exceptions.TransactionCanceledException) as caught:
            self.client.execute_transaction(TransactStatements=[
                {'Statement': "INSERT INTO Projects VALUE {'organisation_id': 'o', 'name': 'm'}"},
                {'Statement': "INSERT INTO Projects VALUE {'organisation_id': 'o', 'name': 'n'}"}])
        self.assertEqual([reason['Code'] for reason in caught.exception.response['CancellationReasons']], ['None', 'DuplicateItem'])
        read = self.client.execute_transaction(TransactStatements=[{'Statement': "SELECT budget FROM Projects WHERE organisation_id = 'o' AND name = 'n'"}])
        self.assertEqual(read['Responses'], [{'Item': {'budget': {'N': '8'}}}])

    def test_refused(self):
        def dynamodb(key_id, secret):
            return boto3.client('dynamodb', aws_access_key_id=key_id, aws_secret_access_key=secret, region_name='eu-central-1', **self.where)
        self.fails('UnrecognizedClientException', dynamodb('AKIAIOSFODNN7EXAMPLE', 'x').list_tables)
        self.fails('InvalidSignatureException', dynamodb(self.server.key_id, 'x').list_tables)
        _, key = self.server.request('POST', '/_access_keys/adm', {'tables': ['Projects'], 'read_only': True})
        reader = dynamodb(key['id'], key['secret'])
        self.assertEqual(reader.scan(TableName='Projects')['Count'], 0)
        self.fails('AccessDeniedException', reader.put_item, TableName='Projects', Item={'organisation_id': {'S': 'o'}, 'name': {'S': 'n'}})


if __name__ == '__main__':
    unittest.main()
