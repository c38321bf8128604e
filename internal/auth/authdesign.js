function (newDoc, oldDoc, userCtx, secObj) {
  // What the server checks by itself for each user, written down for those who read it
  // and for other servers to which this database is replicated.
  var admins = (secObj && secObj.admins) || {};

  function refuse(reason) {
    throw {forbidden: reason};
  }
  function has(list, value) {
    return isArray(list) && list.indexOf(value) !== -1;
  }
  function administers() {
    return has(userCtx.roles, '_admin') || has(admins.names, userCtx.name) ||
      userCtx.roles.some(function (role) { return has(admins.roles, role); });
  }
  function sorted(roles) {
    return JSON.stringify(roles.slice().sort());
  }

  if (newDoc._deleted === true) {
    if (!has(userCtx.roles, '_admin') && !(userCtx.name !== null && oldDoc && oldDoc.name === userCtx.name)) {
      refuse('Only admins may delete other user docs.');
    }
    return;
  }

  if (newDoc.type !== 'user') {
    refuse('doc.type must be user');
  }
  if (!newDoc.name || typeof newDoc.name !== 'string') {
    refuse('doc.name is required');
  }
  if (!newDoc.roles) {
    refuse('doc.roles must exist');
  }
  if (!isArray(newDoc.roles)) {
    refuse('doc.roles must be an array');
  }
  newDoc.roles.forEach(function (role) {
    if (typeof role !== 'string') {
      refuse('doc.roles can only contain strings');
    }
  });
  if (newDoc._id !== 'org.couchdb.user:' + newDoc.name) {
    refuse('Doc ID must be of the form org.couchdb.user:name');
  }
  if (oldDoc && oldDoc.name !== newDoc.name) {
    refuse('Usernames can not be changed.');
  }

  if (newDoc.password_sha && !newDoc.salt) {
    refuse('Users with password_sha must have a salt.See /_utils/script/couch.js for example code.');
  }
  if (newDoc.password_scheme && !has(['simple', 'pbkdf2', 'simple+pbkdf2'], newDoc.password_scheme)) {
    refuse('Password scheme `' + newDoc.password_scheme + '` not supported.');
  }
  if (newDoc.password_scheme === 'pbkdf2') {
    if (typeof newDoc.iterations !== 'number') {
      refuse('iterations must be a number.');
    }
    if (typeof newDoc.derived_key !== 'string') {
      refuse('derived_key must be a string.');
    }
  }

  if (!administers()) {
    if (!oldDoc && newDoc.roles.length > 0) {
      refuse('Only _admin may set roles');
    }
    if (oldDoc && userCtx.name !== newDoc.name) {
      refuse('You may only update your own user document.');
    }
    if (oldDoc && sorted(oldDoc.roles || []) !== sorted(newDoc.roles)) {
      refuse('Only _admin may edit roles');
    }
  }

  newDoc.roles.forEach(function (role) {
    if (role[0] === '_' && role !== '_metrics') {
      refuse('No system roles (starting with underscore) in users db.');
    }
  });
  if (newDoc.name[0] === '_') {
    refuse('Username may not start with underscore.');
  }
  if (newDoc.name.indexOf(':') !== -1) {
    refuse('Character `:` is not allowed in usernames.');
  }
}
